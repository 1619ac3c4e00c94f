import { Glyph, Status } from "../../ui/Status";
import { verdictsOf, type RunOfPage, type Verdict } from "./fields";
import { Mark } from "./Mark";
import styles from "./Criteria.module.css";

/** Each check and criterion with its verdict, who decided it, the reason and the quotes. */
export function Criteria({ run, selected, select }: { run: RunOfPage; selected: number | undefined; select: (criterion: number) => void }) {
  const results = verdictsOf(run);
  const applying = results.filter((result) => result.applies);
  if (run.classificationResult) return <Tag result={run.classificationResult} />;
  if (results.length === 0) return null;
  return (
    <section className="card" aria-labelledby="criteria-title">
      <header>
        <h2 id="criteria-title">{run.checkResults.length > 0 ? "Checks and criteria" : "Criteria"}</h2>
        <span className="muted">
          {applying.filter((result) => result.passed).length} of {applying.length} passed
          {run.score !== null && `, score ${Math.round(run.score * 100)} %`}
        </span>
      </header>
      <ol className={styles.list}>
        {results.map((result, i) => (
          <li key={i} data-passed={result.passed} aria-current={selected === i + 1 ? "true" : undefined}>
            <div className="row">
              <span className={styles.number}>{i + 1}</span>
              {result.applies ? <Glyph of={result.passed ? "Passed" : "Failed"} /> : <span className="muted small">does not apply</span>}
              <strong>{result.what}</strong>
              {result.weight !== null && <span className="muted small">weight {result.weight}</span>}
            </div>
            <p className="muted">{result.why}</p>
            <Quotes run={run} result={result} select={() => select(i + 1)} />
            <p className="muted small" title="Who decided">{decider(result, run.execution)}</p>
            {result.criterion !== undefined && result.decidedBy === "Model" && <Mark run={run} criterion={result.criterion} passed={result.passed} />}
          </li>
        ))}
      </ol>
    </section>
  );
}

function decider({ decidedBy, agreement }: Verdict, { votes, judgeModel }: RunOfPage["execution"]): string {
  if (decidedBy === "Program") return "Decided by a rule, without a model.";
  const judge = judgeModel ? `the judge, ${judgeModel}` : "the judge, a model";
  return agreement === null ? `Decided by ${judge}.` : `Decided by ${judge}, with ${Math.round(agreement * votes)} of ${votes} votes.`;
}

/** The evidence for the verdict, with its speaker. */
function Quotes({ run, result, select }: { run: RunOfPage; result: Verdict; select: () => void }) {
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
        <dt>Actual</dt>
        <dd>{result.tagProduced ?? "none"}</dd>
        <dt>Why</dt>
        <dd>{result.rationale}</dd>
      </dl>
    </section>
  );
}
