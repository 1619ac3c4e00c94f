import { plural } from "./format";
import styles from "./Strip.module.css";

/** The last runs as bars, oldest first. Runs of drafts are hollow and do not count. */
export function Strip({ runs, slots = 0 }: {
  runs: readonly { id: string; status: string; promptVersion: number; isDraft: boolean }[];
  /** If there are fewer runs, gray places fill the left side. */
  slots?: number;
}) {
  const oldestFirst = [...runs].reverse();
  const saved = runs.filter((run) => !run.isDraft);
  const passed = saved.filter((run) => run.status === "Passed").length;
  const drafts = runs.length - saved.length;
  if (runs.length === 0 && slots === 0) return <span className="muted">–</span>;

  return (
    <span className={styles.strip} role="img" aria-label={`${passed} of the last ${saved.length} runs passed${drafts ? `, ${plural(drafts, "draft run")} not counted` : ""}`}>
      {Array.from({ length: Math.max(0, slots - runs.length) }, (_, i) => (
        <i key={i} />
      ))}
      {oldestFirst.map((run) => (
        <i
          key={run.id}
          data-status={run.status}
          data-draft={run.isDraft || undefined}
          title={`${run.status}, ${run.isDraft ? `draft of v${run.promptVersion}` : `prompt v${run.promptVersion}`}`}
        />
      ))}
    </span>
  );
}
