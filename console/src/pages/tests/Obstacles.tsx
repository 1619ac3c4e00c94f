/** Says why a run of a test would end as an error of the agent. */
export function Obstacles({ of }: { of: readonly string[] }) {
  if (of.length === 0) return null;
  return (
    <div className="note warn stack tight">
      <strong>It cannot be carried out with the agent as that is now:</strong>
      <ul>
        {of.map((obstacle) => (
          <li key={obstacle}>{obstacle}</li>
        ))}
      </ul>
    </div>
  );
}
