import { Icon } from "./Icon";
import type { IconName } from "./icons";
import styles from "./Status.module.css";

type State = "passed" | "failed" | "error" | "running" | "queued";

interface Look {
  state: State;
  icon?: IconName;
  word?: string;
}

/** The look of each status. Statuses never differ by color alone. */
const looks: Record<string, Look> = {
  Passed: { state: "passed", icon: "passed" },
  Failed: { state: "failed", icon: "failed" },
  Error: { state: "error", icon: "error" },
  Inconclusive: { state: "error", icon: "help" },
  Queued: { state: "queued", icon: "queued" },
  Running: { state: "running", icon: "running" },
  Completed: { state: "queued", icon: "passed" },
  Cancelling: { state: "queued", icon: "running", word: "Canceling" },
  Cancelled: { state: "queued", icon: "canceled", word: "Canceled" },
  Skipped: { state: "queued", icon: "canceled", word: "Not needed" },
  Open: { state: "running", icon: "queued" },
  Replying: { state: "running", icon: "running" },
  Ended: { state: "queued" },
  Pending: { state: "queued", icon: "queued" },
  Indexing: { state: "running", icon: "running" },
  Delivered: { state: "passed", icon: "passed" },
  Ready: { state: "passed", icon: "passed" },
  Calling: { state: "running", icon: "phone" },
  ProcessingResult: { state: "running", icon: "running", word: "Evaluating" },
  Processed: { state: "passed", icon: "passed" },
  Draft: { state: "queued", icon: "edit" },
  Paused: { state: "error" },
  Archived: { state: "queued" },
  Regressed: { state: "failed", icon: "down" },
  Improved: { state: "passed", icon: "plus" },
  NoDifference: { state: "queued", icon: "minus", word: "No difference" },
  CannotDecide: { state: "error", icon: "help", word: "Cannot decide" },
  Active: { state: "passed", icon: "passed" },
  Expired: { state: "queued" },
  Soon: { state: "error", icon: "clock", word: "Expires soon" },
  Exhausted: { state: "failed", icon: "failed" },
  Reads: { state: "queued", icon: "search" },
  Delegates: { state: "queued", icon: "arrow" },
  Real: { state: "failed", icon: "error" },
  Mocked: { state: "queued" },
  Denied: { state: "queued", icon: "canceled" },
  Unavailable: { state: "queued", icon: "canceled" },
};

/** A status as icon, word and color. `short` is a cell with the icon; hovering and screen readers get the word. */
export function Status({ of, short = false }: { of: string; short?: boolean }) {
  const { state, icon, word = of } = looks[of] ?? { state: "queued" };
  if (short) {
    return (
      <span className={styles.cell} data-s={state} title={word}>
        <Icon name={icon ?? "canceled"} />
        <span className="unseen">{word}</span>
      </span>
    );
  }
  return (
    <span className={styles.status} data-s={state} data-plain={!icon}>
      {icon && <Icon name={icon} />}
      {word}
    </span>
  );
}

/** A status as an icon in a circle, before a name. */
export function Glyph({ of }: { of: string }) {
  const { state, icon = "canceled", word = of } = looks[of] ?? { state: "queued" };
  return (
    <span className={styles.glyph} data-s={state} title={word}>
      <Icon name={icon} />
      <span className="unseen">{word}</span>
    </span>
  );
}
