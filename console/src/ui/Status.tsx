import styles from "./Status.module.css";

type Tone = "ok" | "bad" | "warn" | "info" | "plain";

/** The look of each status. Statuses never differ by color alone. */
const looks: Record<string, { letter: string; tone: Tone; word?: string }> = {
  Passed: { letter: "✓", tone: "ok" },
  Failed: { letter: "✗", tone: "bad" },
  Error: { letter: "!", tone: "warn" },
  Inconclusive: { letter: "?", tone: "warn" },
  Queued: { letter: "·", tone: "plain" },
  Running: { letter: "…", tone: "info" },
  Completed: { letter: "✓", tone: "plain" },
  Cancelling: { letter: "…", tone: "plain" },
  Cancelled: { letter: "–", tone: "plain" },
  Skipped: { letter: "»", tone: "plain", word: "Not needed" },
  Open: { letter: "○", tone: "ok" },
  Replying: { letter: "…", tone: "info" },
  Ended: { letter: "■", tone: "plain" },
  Pending: { letter: "·", tone: "plain" },
  Indexing: { letter: "…", tone: "info" },
  Delivered: { letter: "✓", tone: "ok" },
  Ready: { letter: "✓", tone: "ok" },
  Calling: { letter: "☎", tone: "info" },
  ProcessingResult: { letter: "…", tone: "info", word: "Evaluating" },
  Processed: { letter: "✓", tone: "ok" },
  Draft: { letter: "✎", tone: "plain" },
  Paused: { letter: "‖", tone: "warn" },
  Archived: { letter: "▣", tone: "plain" },
  Regressed: { letter: "↓", tone: "bad" },
  Improved: { letter: "↑", tone: "ok" },
  NoDifference: { letter: "=", tone: "plain", word: "No difference" },
  CannotDecide: { letter: "?", tone: "warn", word: "Cannot decide" },
  Active: { letter: "✓", tone: "ok" },
  Expired: { letter: "■", tone: "plain" },
  Soon: { letter: "⚠", tone: "warn", word: "Expires soon" },
  Exhausted: { letter: "✗", tone: "bad" },
  Reads: { letter: "⌕", tone: "plain" },
  Delegates: { letter: "⤷", tone: "plain" },
  Real: { letter: "⚠", tone: "bad" },
  Mocked: { letter: "◌", tone: "info" },
  Denied: { letter: "⊘", tone: "plain" },
  Unavailable: { letter: "–", tone: "plain" },
};

/** A status as letter, word and color. `short` shows the word only on hover and to screen readers. */
export function Status({ of, short = false }: { of: string; short?: boolean }) {
  const look = looks[of] ?? { letter: "•", tone: "plain" };
  const word = look.word ?? of;
  return (
    <span className={styles.status} data-tone={look.tone} title={short ? word : undefined}>
      <span aria-hidden="true">{look.letter}</span> <span className={short ? "unseen" : undefined}>{word}</span>
    </span>
  );
}
