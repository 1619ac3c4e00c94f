import { useEffect, useEffectEvent, useRef } from "react";
import { Link } from "wouter";
import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import { timeLeft } from "../../logic/news";
import { inRow } from "../../logic/rows";
import { Act } from "../../ui/Act";
import { announce } from "../../ui/announce";
import { count, percent, plural, roughly } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { claimFocus } from "../../ui/keepFocus";
import { Meter } from "../../ui/Meter";
import { errorText } from "../../ui/states";
import { Status } from "../../ui/Status";
import { Time } from "../../ui/Time";
import { toast } from "../../ui/toasts";
import { useRepeat } from "../../ui/useRepeat";
import type { ExecutionOfMatrix } from "./Matrix";
import styles from "./Progress.module.css";
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
export function Progress({ execution, all, onStarted }: {
  execution: ExecutionOfMatrix;
  /** How many tests the agent has. */
  all: number;
  onStarted: (executionId: string) => void;
}) {
  const isOver = execution.status === "Completed" || execution.status === "Cancelled";
  const { counts, verdict, status } = execution;
  const wasOver = useRef(isOver);
  const result = verdict ?? (status === "Cancelled" ? "Canceled" : status);
  const tell = useEffectEvent(() => announce(`${result}: ${count(counts.passed)} of ${[`${count(counts.total)} passed`, ...others(counts)].join(", ")}`));
  useEffect(() => {
    if (isOver && !wasOver.current) tell();
    wasOver.current = isOver;
  }, [isOver]);
  return (
    <>
      {execution.tests.some(({ runs }) => runs.some((run) => run.variant)) && (
        <Link className="button" href={`/compare?variants=${execution.id}`}>
          <Icon name="updown" />
          Variants
        </Link>
      )}
      {isOver ? <Result execution={execution} all={all} onStarted={onStarted} /> : <RunBar execution={execution} />}
      <Rejudged execution={execution} show={onStarted} />
      {execution.leftOutTests.length > 0 && (
        <span className="note warn">Skipped, because they were deleted: {execution.leftOutTests.map((test) => inRow(test.testName, test)).join(", ")}</span>
      )}
    </>
  );
}

/** How often the progress is announced, in milliseconds. */
const telling = 10_000;

/** An execution in progress. Its only button stops it. */
function RunBar({ execution }: { execution: ExecutionOfMatrix }) {
  const { counts } = execution;
  const cancel = useAction(CancelExecution);
  const ended = counts.total - counts.queued - counts.running;
  const left = timeLeft(ended, counts.total, execution.startedAt, Date.now());
  const stop = useRef<HTMLButtonElement>(null);
  // The button that started the tests is disabled soon.
  useEffect(() => claimFocus(stop.current, "[data-run]"), []);
  const told = useRef(0);
  useRepeat(() => {
    if (told.current !== ended) announce(`${count(ended)} of ${count(counts.total)} ended`);
    told.current = ended;
  }, telling, true);
  return (
    <div className={styles.run} role="group" aria-label="Progress">
      <span className="row">
        <Status of={execution.status} />
        {execution.isDraft && <Status of="Draft" />}
        <b className={styles.count}>
          {count(ended)} of {count(counts.total)}
        </b>
      </span>
      <Meter total={counts.total} parts={[["passed", counts.passed], ["failed", counts.failed], ["error", counts.error]]} />
      <span className="muted">
        {tally(counts)}
        {left !== undefined && `, about ${roughly(left)} left`}
      </span>
      <Act
        ref={stop}
        scope="simulate"
        disabled={cancel.isBusy || execution.status === "Cancelling"}
        onClick={() => void cancel.run({ input: { executionId: execution.id } }, {}, (error) => toast(errorText(error), { isError: true }))}
      >
        <Icon name="stop" />
        Stop
      </Act>
    </div>
  );
}

function Result({ execution, all, onStarted }: { execution: ExecutionOfMatrix; all: number; onStarted: (executionId: string) => void }) {
  const { counts } = execution;
  const retry = useAction(RetryExecution);
  const again = async () => {
    const made = await retry.run({ input: { executionId: execution.id, only: "NotPassed" } }, {}, (error) => toast(errorText(error), { isError: true }));
    if (made?.retryAgentTestExecution) onStarted(made.retryAgentTestExecution.execution.id);
  };
  const isSecond = Boolean(execution.rejudgeOfId);
  const ran = new Set(execution.tests.map(({ testId }) => testId)).size;
  const { passRateInterval: interval, correctedPassRate: corrected } = execution;
  return (
    <div className={styles.result}>
      <Status of={execution.verdict ?? execution.status} />
      {execution.isDraft && (
        <span title="Ran with an unsaved draft of the prompt">
          <Status of="Draft" />
        </span>
      )}
      <span>
        {execution.passRate !== null && (
          <>
            <b>{percent(execution.passRate)}</b>
            {counts.judged < counts.total ? ` of the ${plural(counts.judged, "run")} with a verdict: ` : " "}
          </>
        )}
        {tally(counts)}, in {ran < all && `${count(ran)} of `}
        {plural(Math.max(ran, all), "test")}
      </span>
      {interval && (
        <span className="muted small wide" title="95% confidence interval of the pass rate">
          {Math.round(100 * interval.low)} to {Math.round(100 * interval.high)} %
        </span>
      )}
      {execution.simulatorErrors > 0 && (
        <span className="muted small" title="Runs that ended with an error of the simulated contact. They say nothing about the agent">
          {count(execution.simulatorErrors)} by the simulated contact
        </span>
      )}
      {corrected && (
        <span className="small" title={`Without the judge's errors, by ${plural(corrected.labels, "label")} of people on its verdicts. 95% confidence interval`}>
          corrected {percent(corrected.rate)} ({Math.round(100 * corrected.interval.low)} to {Math.round(100 * corrected.interval.high)} %)
        </span>
      )}
      <Times usage={execution.usage} />
      <span className="muted small">
        <Time at={execution.createdAt} />
      </span>
      <span className="push" />
      {!isSecond && counts.passed + counts.skipped < counts.total && (
        <Act scope="simulate" data-run disabled={retry.isBusy} onClick={() => void again()}>
          Retry not passed
        </Act>
      )}
      {!isSecond && <Rejudge executionId={execution.id} onStarted={onStarted} />}
    </div>
  );
}

/** How fast language models answered: "first text 0.31 s (95 %: 0.52 s), whole answer …". Answers by rules have no times. */
function Times({ usage: { models, firstTokenMs, tookMs } }: { usage: ExecutionOfMatrix["usage"] }) {
  if (!tookMs || models.every((model) => model === "offline")) return null;
  const text = (of: { p50: number; p95: number }) => `${seconds(of.p50)} (95 %: ${seconds(of.p95)})`;
  return (
    <span className="muted small wide" title="Half of the answers took at most this long; 95 % at most the time in brackets">
      {firstTokenMs && `first text ${text(firstTokenMs)}, `}whole answer {text(tookMs)}
    </span>
  );
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(ms < 9_950 ? 2 : 0)} s`;

/** "19 passed, 7 failed, 1 error". */
function tally(counts: ExecutionOfMatrix["counts"]): string {
  return [`${count(counts.passed)} passed`, ...others(counts)].join(", ");
}

/** "7 failed", "1 error". */
function others({ failed, error, cancelled, skipped }: ExecutionOfMatrix["counts"]): string[] {
  const parts = [
    failed > 0 && `${count(failed)} failed`,
    error > 0 && plural(error, "error"),
    cancelled > 0 && `${count(cancelled)} canceled`,
    skipped > 0 && `${count(skipped)} not needed`,
  ];
  return parts.filter((part) => part !== false);
}
