/** Where a person finds a key with the scope admin. */
export function AdminKeys() {
  return (
    <>
      <code>agentgraph dev</code> prints such a key at its start, and <code>agentgraph keys create --scope admin</code> creates one.
    </>
  );
}
