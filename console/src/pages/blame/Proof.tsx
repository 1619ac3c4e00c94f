import { proofRows } from "../../logic/cause";
import { unknownPrice } from "../../logic/estimate";
import { duration, plural, shortCredits } from "../../ui/format";
import type { Blame, BlameSearch, Draft, PromptChange } from "./query";
import styles from "./Blame.module.css";

const ends: Record<string, string> = { Completed: "Search complete", Cancelled: "Canceled", Failed: "Failed", Running: "Searching" };

/** The steps of a search, the cause first, or what a search would do and cost. */
export function Proof({ blame, search, changes, cause, running }: {
  blame: Blame;
  search: BlameSearch | undefined;
  changes: readonly PromptChange[];
  cause: readonly PromptChange[];
  /** The state of the step in progress. */
  running: Draft | undefined;
}) {
  const versions = { good: search?.goodVersion ?? blame.goodVersion, bad: search?.badVersion ?? blame.badVersion };
  return (
    <section className={`card ${styles.column}`} aria-labelledby="proof-title">
      <header>
        <h2 id="proof-title">Proof</h2>
        <span className="push muted small">v{versions.bad} with these changes restored</span>
      </header>
      {search ? <Steps rows={proofRows(search.steps, changes, cause, versions)} repeats={search.repeats} running={running} /> : <Before blame={blame} />}
      {search && <Sum search={search} running={running} />}
    </section>
  );
}

function Before({ blame: { goodVersion, badVersion, estimate } }: { blame: Blame }) {
  return (
    <div className={`body stack tight ${styles.fill}`}>
      <p>A search runs this test with v{badVersion} and some changes restored. It finds the fewest changes that must be restored from v{goodVersion} so that the test passes.</p>
      <p className="muted">
        Usually {priceOf(estimate.runs, estimate.credits)}, at most {priceOf(estimate.runsAtMost, estimate.creditsAtMost)}.{unknownPrice(estimate.credits)} It saves nothing.
      </p>
    </div>
  );
}

/** "20 runs for 5 credits", or only the runs if their price is unknown. */
export function priceOf(runs: number, credits: number | null): string {
  return plural(runs, "run") + (credits === null ? "" : ` for ${shortCredits(credits)} credits`);
}

function Steps({ rows, repeats, running }: { rows: ReturnType<typeof proofRows<BlameSearch["steps"][number]>>; repeats: number; running: Draft | undefined }) {
  return (
    <ul className={`${styles.proof} ${styles.fill}`}>
      {rows.map(({ step, text, isCause }) => {
        const counts = step.executionId === running?.id ? running.counts : undefined;
        const passed = step.passed ?? counts?.passed ?? 0;
        const judged = step.judged ?? counts?.judged ?? 0;
        return (
          <li key={step.executionId} data-cause={isCause}>
            <span className="cut" title={text}>
              {text}
            </span>
            <span className={styles.ten} aria-hidden="true">
              {Array.from({ length: Math.max(repeats, judged) }, (_, i) => (
                <i key={i} data-s={i < passed ? "passed" : i < judged || step.judged !== null ? undefined : "running"} />
              ))}
            </span>
            <span className={styles.tally}>{step.judged === null ? `${judged} of ${repeats} runs` : `${passed} of ${judged} pass`}</span>
          </li>
        );
      })}
      {rows.length === 0 && <li className="muted">No step has started.</li>}
    </ul>
  );
}

function Sum({ search, running }: { search: BlameSearch; running: Draft | undefined }) {
  const current = search.steps.find((step) => step.judged === null && step.executionId === running?.id);
  const runs = search.steps.reduce((sum, step) => sum + (step.judged ?? (step === current ? (running?.counts.judged ?? 0) : 0)), 0);
  return (
    <p className={styles.sum}>
      <span>{runs === 0 && search.status === "Running" ? "Waiting for the first draft run" : plural(runs, "draft run")}</span>
      {search.finishedAt && <span>{duration(Date.parse(search.finishedAt) - Date.parse(search.createdAt))}</span>}
      <span className="push">{ends[search.status]}</span>
    </p>
  );
}
