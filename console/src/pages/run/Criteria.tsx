import { Status } from "../../ui/Status";
import type { RunOfPage } from "./fields";
import styles from "./Criteria.module.css";

/** Each criterion with its verdict, the rationale, and the judge's quotes. */
export function Criteria({ run, selected, select }: { run: RunOfPage; selected: number | undefined; select: (criterion: number) => void }) {
  const results = run.criteriaResults;
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
