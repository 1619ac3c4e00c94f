import { Link } from "wouter";
import { count } from "./format";
import { Status } from "./Status";
import { Time } from "./Time";

interface Execution {
  id: string;
  status: string;
  verdict: string | null;
  finishedAt: string | null;
  counts: { total: number; passed: number; failed: number; error: number };
}

/** The result or the progress of an execution, with a link to it. */
export function TestSummary({ agentId, execution }: { agentId: string; execution: Execution }) {
  const { passed, total, error } = execution.counts;
  return (
    <Link href={`/tests?agent=${agentId}&execution=${execution.id}`} className="row tight nowrap quiet">
      <Status of={execution.verdict ?? execution.status} />
      <span>
        {count(passed)}/{count(total)}
        {error > 0 && `, ${error} ${error === 1 ? "error" : "errors"}`}
      </span>
      {execution.finishedAt && (
        <span className="muted small wide">
          <Time at={execution.finishedAt} />
        </span>
      )}
    </Link>
  );
}
