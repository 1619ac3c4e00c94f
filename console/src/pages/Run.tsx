import { useEffect, useEffectEvent } from "react";
import { Link, useLocation, useParams, useSearchParams } from "wouter";
import { useSubscription } from "urql";
import { graphql } from "../api/graphql";
import { useAction, usePage } from "../api/page";
import { byVersion } from "../logic/blame";
import { Act } from "../ui/Act";
import { duration, plural } from "../ui/format";
import { useKeys } from "../ui/singleKeys";
import { Instructions } from "../ui/Instructions";
import { Page } from "../ui/Page";
import { Shown } from "../ui/states";
import { Status } from "../ui/Status";
import { Strip } from "../ui/Strip";
import { Since } from "./agent/AgentHealth";
import { Criteria } from "./run/Criteria";
import { RunFields, type RunOfPage } from "./run/fields";
import { RunPair } from "./run/RunPair";
import { RunTranscript } from "./run/RunTranscript";
import styles from "./Run.module.css";
import { RunTests } from "./tests/RunButtons";

const RunQuery = graphql(`
  query Run($id: ID!) {
    agentTestRun(id: $id) { ...RunFields }
  }
`, [RunFields]);

const SiblingsQuery = graphql(`
  query Siblings($executionId: ID!, $testId: ID!) {
    agentTestExecution(id: $executionId) {
      id
      runs(testId: $testId, first: 20) { nodes { id attempt status } }
      failed: runs(status: Failed, first: 100) { nodes { id } }
    }
    agentTest(id: $testId) {
      __typename id
      failingSince { promptVersion lastPassed { promptVersion } }
      history(first: 40) { id status promptVersion }
    }
  }
`);

const RunUpdate = graphql(`
  subscription RunUpdate($id: ID!) {
    agentTestRunUpdated(executionId: $id) { id status promptVersion durationMs }
  }
`);

/** One attempt of a test or, next to each other, two. */
export default function Run() {
  const { id = "" } = useParams<{ id: string }>();
  const [params] = useSearchParams();
  const otherId = params.get("with");
  return otherId ? <RunPair key={otherId} id={id} otherId={otherId} /> : <SingleRun id={id} />;
}

/** The messages and calls of a run, and the verdict on each criterion, with its quotes marked in the messages. */
function SingleRun({ id }: { id: string }) {
  const answer = usePage(RunQuery, { id });
  return (
    <Shown answer={answer} missing={`run ${id}`}>
      {({ agentTestRun }) => agentTestRun && <RunPage key={agentTestRun.id} run={agentTestRun} refresh={answer.refresh} />}
    </Shown>
  );
}

function RunPage({ run, refresh }: { run: RunOfPage; refresh: () => void }) {
  const { execution, test } = run;
  const agent = execution.agent;
  const [params, setParams] = useSearchParams();
  const [, go] = useLocation();
  const siblings = usePage(SiblingsQuery, { executionId: execution.id, testId: run.testId ?? "" }, { pause: !run.testId }).data;
  const start = useAction(RunTests);
  const isOver = run.status !== "Queued" && run.status !== "Running";
  useRunUpdates(run, isOver, refresh);
  useNextFailed(run.id, siblings?.agentTestExecution?.failed.nodes ?? []);
  const history = siblings?.agentTest?.history ?? [];
  const attempts = (siblings?.agentTestExecution?.runs.nodes ?? []).toSorted((a, b) => a.attempt - b.attempt);
  const failure = siblings?.agentTest?.failingSince;
  const again = async () => {
    const made = await start.run({ input: { testIds: [run.testId ?? ""], repeats: 5 } });
    if (made?.startAgentTestExecution) go(`/tests?agent=${agent?.id}&execution=${made.startAgentTestExecution.execution.id}`);
  };
  const selected = params.has("criterion") ? Number(params.get("criterion")) : undefined;
  const select = (criterion: number) => setParams({ criterion: String(criterion) }, { replace: true });
  return (
    <Page
      title={run.testName}
      crumbs={[
        { to: "/tests", text: "Tests" },
        ...(agent ? [{ to: `/tests?agent=${agent.id}&execution=${execution.id}`, text: agent.name }] : []),
      ]}
      actions={
        run.testId &&
        agent && (
          <>
            <Link className="button" href={`/tests?agent=${agent.id}&edit=${run.testId}`}>
              Edit the test
            </Link>
            {run.messages.some((message) => message.role === "assistant") && (
              <Link className="button" href={`/chats/new?agent=${agent.id}&run=${run.id}`}>
                Talk on from it
              </Link>
            )}
            <Act scope="simulate" className="primary" disabled={start.isBusy} onClick={() => void again()}>
              Run again ×5
            </Act>
          </>
        )
      }
    >
      <div className="row">
        <Status of={run.status} />
        {run.isDraft ? (
          <span title={`A prompt that is not saved, tried while v${run.promptVersion} was the agent's`}>
            <Status of="Draft" /> prompt
          </span>
        ) : (
          <span>prompt v{run.promptVersion}</span>
        )}
        {agent && failure && <Since agentId={agent.id} failure={failure} />}
        <span className="muted">
          {plural(run.turnCount, "turn")}
          {run.durationMs !== null && ` · ${duration(run.durationMs)}`}
          {run.endReason && ` · ${run.endReason}`}
        </span>
        <nav aria-label="Attempts" className={`row tight push ${styles.attempts}`}>
          {attempts.map((sibling) => (
            <Link key={sibling.id} href={`/runs/${sibling.id}`} aria-current={sibling.id === run.id ? "page" : undefined} className="quiet">
              {sibling.attempt} <Status of={sibling.status} short />
            </Link>
          ))}
          {attempts.length > 1 && (
            <select aria-label="Side by side with" value="" onChange={(event) => go(`/runs/${run.id}?with=${event.target.value}`)}>
              <option value="">Side by side with…</option>
              {attempts
                .filter((sibling) => sibling.id !== run.id)
                .map((sibling) => (
                  <option key={sibling.id} value={sibling.id}>
                    attempt {sibling.attempt}, {sibling.status.toLowerCase()}
                  </option>
                ))}
            </select>
          )}
        </nav>
      </div>
      <div className="split">
        <RunTranscript run={run} selected={selected} />
        <div className="stack">
          {run.error && (
            <section className="note bad stack tight" role="alert">
              <strong>{run.status === "Failed" ? "Not all could be judged" : "It could not be judged"}: {run.error.cause}</strong>
              <span>{run.error.message}</span>
              <span>{causes[run.error.cause]}</span>
            </section>
          )}
          <Criteria run={run} selected={selected} select={select} />
          {test?.__typename === "SimulationTest" && (
            <section className="card" aria-labelledby="scenario-title">
              <header>
                <h2 id="scenario-title">What the contact was told</h2>
              </header>
              <p className={`body ${styles.scenario}`}>{test.scenario}</p>
            </section>
          )}
          <Instructions id={run.id} title="What the model was given" />
          {history.length > 0 && (
            <section className="card" aria-labelledby="history-title">
              <header>
                <h2 id="history-title">History</h2>
                <Strip runs={history} />
              </header>
              <ul className="body">
                {byVersion(history).map(({ version, passed, judged }) => (
                  <li key={version}>
                    v{version}: {passed} of {judged} passed
                  </li>
                ))}
              </ul>
            </section>
          )}
        </div>
      </div>
      <p className="muted small">
        <kbd>j</kbd> goes to the next failed run of the execution, <kbd>k</kbd> to the one before.
      </p>
    </Page>
  );
}

const causes: Record<string, string> = {
  Agent: "The agent itself failed to answer.",
  Simulator: "The model that plays the contact failed, not the agent.",
  Judge: "The judge failed, or could not say where its verdict is seen.",
  Infrastructure: "The gateway or what it needs failed, not the agent.",
};

/** Reads the run again when it is over, because updates carry no transcript. */
function useRunUpdates(run: RunOfPage, isOver: boolean, refresh: () => void): void {
  useSubscription({ query: RunUpdate, variables: { id: run.execution.id }, pause: isOver });
  const onOver = useEffectEvent(refresh);
  const isEmpty = isOver && run.messages.length === 0 && run.status !== "Cancelled" && !run.error;
  useEffect(() => {
    if (isEmpty) onOver();
  }, [isEmpty]);
}

/** j and k go through the failed runs of the execution. */
function useNextFailed(id: string, failed: readonly { id: string }[]): void {
  const [, go] = useLocation();
  useKeys((key) => {
    const step = { j: 1, k: -1 }[key];
    if (!step) return;
    const at = failed.findIndex((run) => run.id === id);
    const next = failed[at < 0 ? 0 : at + step];
    if (next) go(`/runs/${next.id}`);
  });
}
