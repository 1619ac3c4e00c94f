/** Says why a run of the test would end in an error of the agent, and which parts of the test are likely mistakes. */
export function Obstacles({ of }: { of: readonly string[] }) {
  if (of.length === 0) return null;
  return (
    <div className="note warn stack tight">
      <strong>With the current agent:</strong>
      <ul>
        {of.map((obstacle) => (
          <li key={obstacle}>{obstacle}</li>
        ))}
      </ul>
    </div>
  );
}
