import { Link } from "wouter";
import { graphql } from "../../api/graphql";
import { usePage } from "../../api/page";
import { parting } from "../../logic/partings";
import { inRow } from "../../logic/rows";
import { duration, plural } from "../../ui/format";
import { Page } from "../../ui/Page";
import { Shown } from "../../ui/states";
import { Status } from "../../ui/Status";
import { Time } from "../../ui/Time";
import { RunFields, verdictsOf, type RunOfPage } from "./fields";
import styles from "./RunPair.module.css";
import { Turn } from "./RunTranscript";

const PairQuery = graphql(`
  query RunPair($id: ID!, $otherId: ID!) {
    run: agentTestRun(id: $id) { ...RunFields }
    other: agentTestRun(id: $otherId) { ...RunFields }
  }
`, [RunFields]);

/** Two runs next to each other, message by message and criterion by criterion. */
export function RunPair({ id, otherId }: { id: string; otherId: string }) {
  const answer = usePage(PairQuery, { id, otherId });
  return (
    <Shown answer={answer} missing="pair of runs">
      {({ run, other }) => run && other && <Pair runs={[run, other]} />}
    </Shown>
  );
}

const sides = ["left", "right"] as const;

function Pair({ runs }: { runs: [RunOfPage, RunOfPage] }) {
  const [run, other] = runs;
  const agent = run.execution.agent;
  const parts = parting(run.messages, other.messages);
  const turns = Math.max(run.messages.length, other.messages.length);
  return (
    <Page
      title={inRow(run.testName, run)}
      crumbs={[
        { to: "/tests", text: "Tests" },
        ...(agent ? [{ to: `/tests?agent=${agent.id}&execution=${run.execution.id}`, text: agent.name }] : []),
      ]}
      actions={
        <Link className="button" href={`/runs/${other.id}?with=${run.id}`}>
          <span aria-hidden="true">⇄</span> Swap
        </Link>
      }
    >
      <div className="row">
        <span>{parts === undefined ? "The transcripts are identical." : `The same up to message ${parts}, where they differ.`}</span>
        {agent && run.promptVersion !== other.promptVersion && (
          <Link
            href={`/agents/${agent.id}/versions?from=${Math.min(run.promptVersion, other.promptVersion)}&to=${Math.max(run.promptVersion, other.promptVersion)}`}
          >
            Changes between prompts v{run.promptVersion} and v{other.promptVersion}
          </Link>
        )}
      </div>
      <section className="card" aria-label="Both transcripts">
        <header className={styles.pair}>
          {runs.map((each, side) => (
            <h2 key={each.id} className={styles.title}>
              <Link href={`/runs/${each.id}`}>
                Attempt {each.attempt}, <Time at={each.createdAt} />
              </Link>
              <Status of={each.status} />
              <span className="muted small">
                {sides[side]} · prompt v{each.promptVersion} · {plural(each.turnCount, "turn")}
                {each.durationMs !== null && ` · ${duration(each.durationMs)}`}
              </span>
            </h2>
          ))}
        </header>
        <div className={`body ${styles.turns}`}>
          {Array.from({ length: turns }, (_, index) => (
            <div key={index} className={styles.pair} data-differs={parts !== undefined && index >= parts}>
              {runs.map((each, side) => (
                <div key={each.id} className={styles.side} data-side={sides[side]}>
                  {index < each.messages.length ? <Turn run={each} index={index} idPrefix={sides[side]} /> : <p className="muted small">ended</p>}
                </div>
              ))}
            </div>
          ))}
          {turns === 0 && <p className="muted">Both transcripts are empty.</p>}
        </div>
      </section>
      <Verdicts runs={runs} />
    </Page>
  );
}

function Verdicts({ runs }: { runs: [RunOfPage, RunOfPage] }) {
  const criteria = [...new Set(runs.flatMap((run) => verdictsOf(run).map((verdict) => verdict.what)))];
  if (criteria.length === 0) return null;
  return (
    <section className="card" aria-labelledby="verdicts-title">
      <header>
        <h2 id="verdicts-title">Criteria</h2>
      </header>
      <table className={styles.verdicts}>
        <thead>
          <tr>
            <th scope="col">Criterion</th>
            {sides.map((side) => (
              <th key={side} scope="col">
                {side === "left" ? "Left" : "Right"}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {criteria.map((criterion) => (
            <tr key={criterion}>
              <th scope="row">{criterion}</th>
              {runs.map((run) => {
                const result = verdictsOf(run).find((each) => each.what === criterion);
                return (
                  <td key={run.id}>
                    {result?.applies ? <Status of={result.passed ? "Passed" : "Failed"} /> : <span className="muted">{result ? "does not apply" : "not judged"}</span>}
                    <div className="muted small">{result?.why}</div>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
