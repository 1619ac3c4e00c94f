import { Status } from "../../ui/Status";
import type { RunOfPage } from "./fields";
import styles from "./Criteria.module.css";

type Result = RunOfPage["criteriaResults"][number];

/** Each criterion with its verdict, who decided it and why, and the quotes that show it. */
export function Criteria({ run, selected, select }: { run: RunOfPage; selected: number | undefined; select: (criterion: number) => void }) {
  const results = run.criteriaResults;
  if (run.classificationResult) return <Tag result={run.classificationResult} />;
  if (results.length === 0) return null;
  return (
    <section className="card" aria-labelledby="criteria-title">
      <header>
        <h2 id="criteria-title">Criteria</h2>
        <span className="muted">
          {results.filter((result) => result.passed).length} of {results.length} hold
        </span>
      </header>
      <ol className={styles.list}>
        {results.map((result, i) => (
          <li key={result.criterion} data-passed={result.passed} aria-current={selected === i + 1 ? "true" : undefined}>
            <div className="row">
              <span className={styles.number}>{i + 1}</span>
              <Status of={result.passed ? "Passed" : "Failed"} short />
              <strong>{result.criterion}</strong>
            </div>
            <p className="muted">{result.rationale}</p>
            <Quotes run={run} result={result} select={() => select(i + 1)} />
            <p className="muted small">{deciders[result.decidedBy]}</p>
          </li>
        ))}
      </ol>
    </section>
  );
}

const deciders: Record<Result["decidedBy"], string> = {
  Program: "Decided by a rule, without a model.",
  Model: "Decided by the judge, a model.",
};

/** What shows the verdict, with whose words they are. */
function Quotes({ run, result, select }: { run: RunOfPage; result: Result; select: () => void }) {
  return result.evidence.map(({ messageIndex, quote, toolCallId, speaker }) => {
    const call = run.toolCalls.find((each) => each.id === toolCallId);
    const who = speaker === "user" ? ", the contact" : speaker === "assistant" ? ", the agent" : "";
    return (
      <button key={`${messageIndex} ${toolCallId} ${quote}`} type="button" className={styles.quote} onClick={select}>
        {call ? `call of ${call.technicalName}` : `message ${messageIndex}${who}`}: “{quote}”
      </button>
    );
  });
}

function Tag({ result }: { result: NonNullable<RunOfPage["classificationResult"]> }) {
  return (
    <section className="card" aria-labelledby="criteria-title">
      <header>
        <h2 id="criteria-title">Tag</h2>
        <Status of={result.passed ? "Passed" : "Failed"} />
      </header>
      <dl className="body facts">
        <dt>Expected</dt>
        <dd>{result.tagExpected}</dd>
        <dt>Given</dt>
        <dd>{result.tagProduced ?? "none"}</dd>
        <dt>Why</dt>
        <dd>{result.rationale}</dd>
      </dl>
    </section>
  );
}
