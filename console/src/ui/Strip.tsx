import styles from "./Strip.module.css";

/** The last runs as bars, oldest first. */
export function Strip({ runs, slots = 0 }: {
  runs: readonly { id: string; status: string; promptVersion: number }[];
  /** If there are fewer runs, gray places fill the left side. */
  slots?: number;
}) {
  const oldestFirst = [...runs].reverse();
  const passed = runs.filter((run) => run.status === "Passed").length;
  if (runs.length === 0 && slots === 0) return <span className="muted">–</span>;

  return (
    <span className={styles.strip} role="img" aria-label={`${passed} of the last ${runs.length} runs passed`}>
      {Array.from({ length: Math.max(0, slots - runs.length) }, (_, i) => (
        <i key={i} />
      ))}
      {oldestFirst.map((run) => (
        <i key={run.id} data-status={run.status} title={`${run.status}, prompt v${run.promptVersion}`} />
      ))}
    </span>
  );
}
