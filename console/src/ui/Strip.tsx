import styles from "./Strip.module.css";

/** The last runs as bars, oldest first. */
export function Strip({ runs }: { runs: readonly { id: string; status: string; promptVersion: number }[] }) {
  const oldestFirst = [...runs].reverse();
  const passed = runs.filter((run) => run.status === "Passed").length;
  if (runs.length === 0) return <span className="muted">–</span>;
  return (
    <span className={styles.strip} role="img" aria-label={`${passed} of the last ${runs.length} runs passed`}>
      {oldestFirst.map((run) => (
        <i key={run.id} data-status={run.status} title={`${run.status}, prompt v${run.promptVersion}`} />
      ))}
    </span>
  );
}
