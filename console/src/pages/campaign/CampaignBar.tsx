import { count } from "../../ui/format";
import styles from "./CampaignBar.module.css";

interface Counts {
  total: number;
  pending: number;
  calling: number;
  processingResult: number;
  processed: number;
  error: number;
}

const parts = [
  ["processed", "processed"],
  ["processingResult", "evaluating"],
  ["calling", "calling"],
  ["error", "error"],
  ["pending", "pending"],
] as const;

/** The number of contacts in each state, as a bar and in words, and the pace if it is known. */
export function CampaignBar({ counts, pace }: { counts: Counts; pace?: number }) {
  return (
    <div className={styles.bar}>
      <div aria-hidden="true">
        {parts.map(([name]) => (counts[name] > 0 ? <i key={name} data-part={name} style={{ flexGrow: counts[name] }} /> : null))}
      </div>
      <span className="small">
        {parts
          .filter(([name]) => counts[name] > 0)
          .map(([name, word]) => `${count(counts[name])} ${word}`)
          .join(" · ") || "none"}
        {pace !== undefined && (
          <span className="muted" title="Seen on this page within the last five minutes">
            {" "}
            · {pace.toFixed(1)} a minute
          </span>
        )}
      </span>
    </div>
  );
}
