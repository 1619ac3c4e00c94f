import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import { inRow } from "../../logic/rows";
import { Act } from "../../ui/Act";
import { percent } from "../../ui/format";
import { errorText } from "../../ui/states";
import { Status } from "../../ui/Status";
import { Time } from "../../ui/Time";
import type { ExecutionOfMatrix } from "./Matrix";
import { Rejudge, Rejudged } from "./Rejudge";

const CancelExecution = graphql(`
  mutation CancelExecution($input: CancelAgentTestExecutionInput!) {
    cancelAgentTestExecution(input: $input) { execution { id status } }
  }
`);

const RetryExecution = graphql(`
  mutation RetryExecution($input: RetryAgentTestExecutionInput!) {
    retryAgentTestExecution(input: $input) { execution { id retryOfId leftOutTests { testId testName rowName } } }
  }
`);

/** The progress or the result of an execution, and the actions on it. */
export function Progress({ execution, onStarted }: { execution: ExecutionOfMatrix; onStarted: (executionId: string) => void }) {
  const { counts } = execution;
  const cancel = useAction(CancelExecution);
  const retry = useAction(RetryExecution);
  const isOver = execution.status === "Completed" || execution.status === "Cancelled";
  const ended = counts.total - counts.queued - counts.running;
  const error = cancel.error ?? retry.error;
  const again = async () => {
    const made = await retry.run({ input: { executionId: execution.id, only: "NotPassed" } });
    if (made?.retryAgentTestExecution) onStarted(made.retryAgentTestExecution.execution.id);
  };
  const allOf = execution.passHatK.at(-1);
  return (
    <>
      <Status of={execution.verdict ?? execution.status} />
      {execution.isDraft && (
        <span title="Ran with an unsaved draft of the prompt">
          <Status of="Draft" /> prompt
        </span>
      )}
      {!isOver && (
        <>
          <progress value={ended} max={counts.total} aria-label="Runs that have ended" />
          <span role="status">
            {ended} of {counts.total}
          </span>
        </>
      )}
      <span className="row">
        <span>{counts.passed} ✓ passed</span>
        <span>{counts.failed} ✗ failed</span>
        {counts.error > 0 && <span>{counts.error} ! error</span>}
        {counts.cancelled > 0 && <span>{counts.cancelled} – cancelled</span>}
        {counts.skipped > 0 && <span title="Decided by earlier runs">{counts.skipped} » not needed</span>}
        {execution.passRate !== null && <strong>{percent(execution.passRate)}</strong>}
        {execution.passRateInterval && (
          <span className="muted small" title="95% confidence interval of the pass rate">
            {Math.round(100 * execution.passRateInterval.low)}–{Math.round(100 * execution.passRateInterval.high)} %
          </span>
        )}
        {allOf !== undefined && execution.repeats > 1 && <span className="muted">all {execution.repeats} pass: {percent(allOf)}</span>}
      </span>
      <span className="muted">
        <Time at={execution.createdAt} />
      </span>
      {!isOver && (
        <Act scope="simulate" disabled={cancel.isBusy} onClick={() => void cancel.run({ input: { executionId: execution.id } })}>
          Cancel
        </Act>
      )}
      {isOver && !execution.rejudgeOfId && counts.passed + counts.skipped < counts.total && (
        <Act scope="simulate" disabled={retry.isBusy} onClick={() => void again()}>
          Retry not passed
        </Act>
      )}
      {isOver && !execution.rejudgeOfId && <Rejudge executionId={execution.id} onStarted={onStarted} />}
      <Rejudged execution={execution} show={onStarted} />
      {execution.leftOutTests.length > 0 && (
        <span className="note warn">Skipped, because they were deleted: {execution.leftOutTests.map((test) => inRow(test.testName, test)).join(", ")}</span>
      )}
      {error && (
        <span className="note bad" role="alert">
          {errorText(error)}
        </span>
      )}
    </>
  );
}
