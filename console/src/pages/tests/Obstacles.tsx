/** Says why a run of a test would end as an error of the agent, and what in the test is likely a mistake. */
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
