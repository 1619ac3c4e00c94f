import { Status } from "../../ui/Status";
import { verdictsOf, type RunOfPage } from "./fields";
import styles from "./Criteria.module.css";

/** Each check and criterion with its verdict, the reason, and the quotes. */
export function Criteria({ run, selected, select }: { run: RunOfPage; selected: number | undefined; select: (criterion: number) => void }) {
  const results = verdictsOf(run);
  const applying = results.filter((result) => result.applies);
  const tag = run.classificationResult;
  if (tag) {
    return (
      <section className="card" aria-labelledby="criteria-title">
        <header>
          <h2 id="criteria-title">Tag</h2>
          <Status of={tag.passed ? "Passed" : "Failed"} />
        </header>
        <dl className="body facts">
          <dt>Expected</dt>
          <dd>{tag.tagExpected}</dd>
          <dt>Given</dt>
          <dd>{tag.tagProduced ?? "none"}</dd>
          <dt>Why</dt>
          <dd>{tag.rationale}</dd>
        </dl>
      </section>
    );
  }
  if (results.length === 0) return null;
  return (
    <section className="card" aria-labelledby="criteria-title">
      <header>
        <h2 id="criteria-title">{run.checkResults.length > 0 ? "Checks and criteria" : "Criteria"}</h2>
        <span className="muted">
          {applying.filter((result) => result.passed).length} of {applying.length} hold
          {run.score !== null && `, score ${Math.round(run.score * 100)} %`}
        </span>
      </header>
      <ol className={styles.list}>
        {results.map((result, i) => (
          <li key={i} data-passed={result.passed} aria-current={selected === i + 1 ? "true" : undefined}>
            <div className="row">
              <span className={styles.number}>{i + 1}</span>
              {result.applies ? <Status of={result.passed ? "Passed" : "Failed"} short /> : <span className="muted small">does not apply</span>}
              <strong>{result.what}</strong>
              {result.isCheck && <span className="muted small">check</span>}
              {result.weight !== null && <span className="muted small">weight {result.weight}</span>}
            </div>
            <p className="muted">{result.why}</p>
            {result.evidence.map((evidence) => (
              <button key={`${evidence.messageIndex} ${evidence.quote}`} type="button" className={styles.quote} onClick={() => select(i + 1)}>
                message {evidence.messageIndex}: “{evidence.quote}”
              </button>
            ))}
          </li>
        ))}
      </ol>
    </section>
  );
}
