import { useEffect, useEffectEvent } from "react";
import { Link, useLocation, useParams, useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../api/graphql";
import { useFollowed } from "../api/live";
import { useGo, usePage } from "../api/page";
import { byVersion, type PastRun } from "../logic/blame";
import { inRow } from "../logic/rows";
import { Act } from "../ui/Act";
import { count, duration, exactCredits, plural } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Pick } from "../ui/Pick";
import { useKeys } from "../ui/singleKeys";
import { Extracted } from "../ui/Extracted";
import { Instructions } from "../ui/Instructions";
import { Page } from "../ui/Page";
import { Shown } from "../ui/states";
import { Status } from "../ui/Status";
import { Strip } from "../ui/Strip";
import { Since } from "./agent/AgentHealth";
import { TestTabs } from "./blame/TestTabs";
import { Criteria } from "./run/Criteria";
import { Queue } from "./run/Queue";
import { RunFields, type RunOfPage } from "./run/fields";
import { RunPair } from "./run/RunPair";
import { RunTranscript } from "./run/RunTranscript";
import styles from "./Run.module.css";
import { RunConfirmation, useRun } from "./tests/RunButtons";

const RunQuery = graphql(`
  query Run($id: ID!) {
    agentTestRun(id: $id) {
      ...RunFields
      test { id failingSince { promptVersion lastPassed { promptVersion } } }
    }
  }
`, [RunFields]);

const SiblingsQuery = graphql(`
  query Siblings($executionId: ID!, $testId: ID!) {
    agentTestExecution(id: $executionId) {
      id
      runs(testId: $testId, first: 100) { nodes { id attempt status rowNumber } }
      failed: runs(status: Failed, first: 100) { nodes { id } }
    }
    agentTest(id: $testId) {
      __typename id
      history(first: 40, isDraft: false) { id status promptVersion }
    }
  }
`);

const RunUpdate = graphql(`
  subscription RunUpdate($id: ID!) {
    agentTestRunUpdated(executionId: $id) { id status promptVersion durationMs }
  }
`);

/** One attempt of a test, two next to each other, or the verdicts of an agent's runs that a person should label. */
export default function Run() {
  const { id = "" } = useParams<{ id: string }>();
  const [params] = useSearchParams();
  const otherId = params.get("with");
  const queueOf = id === "queue" && params.get("agent");
  if (queueOf) return <Queue key={queueOf} agentId={queueOf} />;
  return otherId ? <RunPair key={otherId} id={id} otherId={otherId} /> : <SingleRun id={id} />;
}

/** The messages and calls of a run, and the verdict on each criterion, with its quotes marked in the messages. */
function SingleRun({ id }: { id: string }) {
  const answer = usePage(RunQuery, { id });
  return (
    <Shown answer={answer} missing={`run ${id}`}>
      {({ agentTestRun: run }) => run && <RunPage key={run.id} run={run} failure={run.test?.failingSince ?? null} refresh={answer.refresh} />}
    </Shown>
  );
}

/** Since when the run's test has been failing. */
type Failing = NonNullable<NonNullable<ResultOf<typeof RunQuery>["agentTestRun"]>["test"]>["failingSince"];
type Siblings = ResultOf<typeof SiblingsQuery>;

function RunPage({ run, failure, refresh }: { run: RunOfPage; failure: Failing; refresh: () => void }) {
  const { execution, test } = run;
  // The tab says what broke the test.
  const isBroken = run.status === "Failed" && test !== null && Boolean(failure?.lastPassed);
  const agent = execution.agent;
  const [params, setParams] = useSearchParams();
  const siblings = usePage(SiblingsQuery, { executionId: execution.id, testId: run.testId ?? "" }, { pause: !run.testId }).data;
  useRunUpdates(run, run.status !== "Queued" && run.status !== "Running", refresh);
  const history = siblings?.agentTest?.history ?? [];
  const selected = params.has("criterion") ? Number(params.get("criterion")) : undefined;
  const select = (criterion: number) => setParams({ criterion: String(criterion) }, { replace: true });
  const tests = `/tests?agent=${agent?.id}&execution=${execution.id}`;
  return (
    <Page
      title={inRow(run.testName, run)}
      facts={
        <>
          <Status of={run.status} />
          {run.isDraft && (
            <span title={`An unsaved prompt, tried while v${run.promptVersion} was the saved one`}>
              <Status of="Draft" />
            </span>
          )}
        </>
      }
      more={
        agent && (
          <Link className="narrow" href={`/chats/new?agent=${agent.id}&run=${run.id}`}>
            Continue this chat
          </Link>
        )
      }
      crumbs={[
        { to: "/tests", text: "Tests" },
        ...(agent ? [{ to: tests, text: agent.name }] : []),
        ...(agent && test?.folder ? [{ to: `${tests}&folder=${test.folder.id}`, text: test.folder.name }] : []),
      ]}
      tabs={isBroken && <TestTabs runId={run.id} testId={test.id} current="run" />}
      actions={<Actions run={run} />}
    >
      <Facts run={run} failure={isBroken ? null : failure} siblings={siblings} />
      <div className="split">
        <RunTranscript run={run} selected={selected} />
        <div className="stack">
          {run.error && (
            <section className="note bad stack tight" role="alert">
              <strong>{run.status === "Failed" ? "Not everything could be judged" : "The run could not be judged"}: {run.error.cause}</strong>
              <span>{run.error.message}</span>
              <span>{causes[run.error.cause]}</span>
            </section>
          )}
          <Criteria run={run} selected={selected} select={select} />
          <Extracted values={run.extracted as Record<string, unknown> | null} error={run.extractionError} />
          {test?.__typename === "SimulationTest" && (
            <section className="card" aria-labelledby="scenario-title">
              <header>
                <h2 id="scenario-title">Instructions to the contact</h2>
              </header>
              <p className={`body ${styles.scenario}`}>{test.scenario}</p>
            </section>
          )}
          <div className="card">
            <div className="body">
              <Instructions id={run.id} title="Model input" />
            </div>
          </div>
          {history.length > 0 && <History runs={history} />}
        </div>
      </div>
    </Page>
  );
}

/** The next steps for the run's test. */
function Actions({ run }: { run: RunOfPage }) {
  const { agent } = run.execution;
  const go = useGo();
  const again = useRun((id) => go(`/tests?agent=${agent?.id}&execution=${id}`));
  const { testId } = run;
  if (!testId || !agent) return null;
  return (
    <>
      <Link className="button" href={`/tests?agent=${agent.id}&edit=${testId}`}>
        Edit test
      </Link>
      {run.messages.some((message) => message.role === "assistant") && (
        <Link className="button wide" href={`/chats/new?agent=${agent.id}&run=${run.id}`}>
          Continue this chat
        </Link>
      )}
      <Act scope="simulate" className="primary" title="5 times" disabled={again.isBusy} onClick={() => void again.ask({ testIds: [testId], repeats: 5 })}>
        <Icon name="play" />
        Run again
      </Act>
      <RunConfirmation run={again} />
    </>
  );
}

/** The run's state and its prompt, and the other attempts. */
function Facts({ run, failure, siblings }: { run: RunOfPage; failure: Failing; siblings: Siblings | undefined }) {
  const { agent } = run.execution;
  return (
    <div className="toolbar">
      {!run.isDraft && agent && (
        <Link className="quiet" href={`/agents/${agent.id}/versions`}>
          Prompt v{run.promptVersion}
        </Link>
      )}
      {run.testId && failure && <Since testId={run.testId} failure={failure} />}
      <span className="muted">
        {plural(run.turnCount, "turn")}
        {run.durationMs !== null && ` · ${duration(run.durationMs)}`}
        {run.endReason && ` · ${run.endReason}`}
      </span>
      {run.usage && <Usage of={run.usage} />}
      <Rejudgements run={run} />
      <FailedRuns id={run.id} failed={siblings?.agentTestExecution?.failed.nodes ?? []} />
      <Attempts id={run.id} attempts={siblings?.agentTestExecution?.runs.nodes.filter((other) => other.rowNumber === run.rowNumber) ?? []} />
    </div>
  );
}

/** The models, tokens, credits and time of the agent's answers. Answers without a language model take no tokens. */
function Usage({ of: { models, fallbacks, inputTokens, outputTokens, credits, firstTokenMs } }: { of: NonNullable<RunOfPage["usage"]> }) {
  const facts = [
    ...(models.length > 0 ? [models.join(", ") + (fallbacks > 0 ? " (fallback)" : "")] : []),
    ...(inputTokens + outputTokens > 0 ? [`${count(inputTokens)} tokens read, ${count(outputTokens)} written`] : []),
    ...(credits > 0 ? [`${exactCredits(credits)} credits`] : []),
    ...(firstTokenMs ? [`first text after ${duration(Math.round(firstTokenMs.p50))}`] : []),
  ];
  return <span className="muted wide">{facts.join(" · ")}</span>;
}

/** Links to other verdicts on the same conversation. */
function Rejudgements({ run }: { run: RunOfPage }) {
  const { votes } = run.execution;
  return (
    <>
      {votes > 1 && <span className="muted">{votes} votes per criterion</span>}
      {run.rejudgeOf && (
        <Link href={`/runs/${run.rejudgeOf.id}?with=${run.id}`}>
          first verdict: <Status of={run.rejudgeOf.status} />
        </Link>
      )}
      {run.rejudgements.map((again) => (
        <Link key={again.id} href={`/runs/${run.id}?with=${again.id}`}>
          judged again by {again.execution.judgeModel}: <Status of={again.status} />
        </Link>
      ))}
    </>
  );
}

function Attempts({ id, attempts }: { id: string; attempts: readonly { id: string; attempt: number; status: string }[] }) {
  const [, go] = useLocation();
  const inOrder = attempts.toSorted((a, b) => a.attempt - b.attempt);
  return (
    <nav aria-label="Attempts" className={`row tight ${styles.attempts}`}>
      {inOrder.map((sibling) => (
        <Link key={sibling.id} href={`/runs/${sibling.id}`} aria-current={sibling.id === id ? "page" : undefined} className="quiet">
          <span className="unseen">{sibling.attempt} </span>
          <Status of={sibling.status} short />
        </Link>
      ))}
      {inOrder.length > 1 && (
        <Pick
          label="Compare with"
          shown="Compare"
          options={[["", "…"], ...inOrder.filter((sibling) => sibling.id !== id).map((sibling) => [sibling.id, `attempt ${sibling.attempt}, ${sibling.status.toLowerCase()}`] as const)]}
          value=""
          set={(other) => go(`/runs/${id}?with=${other}`)}
        />
      )}
    </nav>
  );
}

/** The test's results with each version of the prompt. */
function History({ runs }: { runs: readonly PastRun[] }) {
  return (
    <section className="card" aria-labelledby="history-title">
      <header>
        <h2 id="history-title">History</h2>
        <Strip runs={runs} />
      </header>
      <ul className="body">
        {byVersion(runs).map(({ version, passed, judged }) => (
          <li key={version}>
            v{version}: {passed} of {judged} passed
          </li>
        ))}
      </ul>
    </section>
  );
}

const causes: Record<string, string> = {
  Agent: "The agent failed to answer.",
  Simulator: "The model that plays the contact failed, not the agent.",
  Judge: "The judge failed, or could not cite evidence for its verdict.",
  Infrastructure: "The server or a service that it needs failed, not the agent.",
};

/** Reads the run again when it is over, because updates carry no transcript. */
function useRunUpdates(run: RunOfPage, isOver: boolean, refresh: () => void): void {
  useFollowed(RunUpdate, { id: run.execution.id }, isOver, refresh);
  const onOver = useEffectEvent(refresh);
  const isEmpty = isOver && run.messages.length === 0 && run.status !== "Cancelled" && !run.error;
  useEffect(() => {
    if (isEmpty) onOver();
  }, [isEmpty]);
}

/** The failed runs of the execution before and after this one. j and k lead there. */
function FailedRuns({ id, failed }: { id: string; failed: readonly { id: string }[] }) {
  const [, go] = useLocation();
  const at = failed.findIndex((run) => run.id === id);
  const after = failed[at + 1];
  const before = at > 0 ? failed[at - 1] : undefined;
  useKeys((key) => {
    const next = { j: after, k: before }[key];
    if (next) go(`/runs/${next.id}`);
  });
  if (!before && !after) return null;
  return (
    <nav aria-label="Failed runs" className="row push">
      {before && (
        <Link className="button quiet" href={`/runs/${before.id}`} title="Previous failed run">
          <kbd>k</kbd> Previous red
        </Link>
      )}
      {after && (
        <Link className="button quiet" href={`/runs/${after.id}`} title="Next failed run">
          <kbd>j</kbd> Next red
        </Link>
      )}
    </nav>
  );
}
