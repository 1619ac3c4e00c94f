import { useState } from "react";
import { Link } from "wouter";
import { plural } from "../../ui/format";
import { Status } from "../../ui/Status";
import { Time } from "../../ui/Time";
import type { AgentOfTests } from "./AgentTests";

type Execution = AgentOfTests["testExecutions"]["nodes"][number];

/** The agent's executions: one to show, two to compare. */
export function Executions({ executions, total, shownId, show }: { executions: readonly Execution[]; total: number; shownId: string | undefined; show: (id: string) => void }) {
  const [ticked, setTicked] = useState<string[]>([]);
  const tick = (id: string) => setTicked(ticked.includes(id) ? ticked.filter((t) => t !== id) : [...ticked.slice(-1), id]);
  const [base, head] = executions.filter((execution) => ticked.includes(execution.id)).reverse();
  return (
    <section className="card" aria-labelledby="executions-title">
      <header>
        <h2 id="executions-title">Executions</h2>
        <span className="push">
          {base && head ? (
            <Link className="button primary" href={`/compare?base=${base.id}&head=${head.id}`}>
              Compare these two
            </Link>
          ) : (
            <span className="muted small">{executions.length > 1 ? "select two to compare" : ""}</span>
          )}
        </span>
      </header>
      <div className="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">
                <span className="unseen">Compare</span>
              </th>
              <th scope="col">Started</th>
              <th scope="col">State</th>
              <th scope="col" className="number wide">
                Repeats
              </th>
              <th scope="col" className="number wide">
                Passed
              </th>
              <th scope="col" className="wide">
                Origin
              </th>
            </tr>
          </thead>
          <tbody>
            {executions.map((execution) => (
              <tr key={execution.id} data-go aria-current={execution.id === shownId ? "true" : undefined}>
                <td>
                  <input type="checkbox" aria-label="Compare this execution" checked={ticked.includes(execution.id)} onChange={() => tick(execution.id)} />
                </td>
                <th scope="row">
                  <button type="button" className="plain" onClick={() => show(execution.id)}>
                    <Time at={execution.createdAt} />
                  </button>
                  {execution.isDraft && <Status of="Draft" />}
                  {execution.id === shownId && <span className="muted small"> shown above</span>}
                </th>
                <td>
                  <Status of={execution.verdict ?? execution.status} />{" "}
                  <span className="narrow muted small">
                    {execution.counts.passed} of {execution.counts.total} passed
                  </span>
                </td>
                <td className="number wide">{execution.repeats}</td>
                <td className="number wide">
                  {execution.counts.passed} of {execution.counts.total}
                </td>
                <td className="wide">{execution.retryOfId ? "retry" : execution.rejudgeOfId ? "judged again" : ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {executions.length < total && <p className="body muted small">{`The newest ${executions.length} of ${plural(total, "execution")}.`}</p>}
    </section>
  );
}
