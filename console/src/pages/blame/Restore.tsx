import { lazy, Suspense } from "react";
import { Link } from "wouter";
import { graphql } from "../../api/graphql";
import { useFollowed } from "../../api/live";
import { useAction, useConflict, useGo, usePage } from "../../api/page";
import type { Change } from "../../logic/cause";
import { Act } from "../../ui/Act";
import { Icon } from "../../ui/Icon";
import { Meter } from "../../ui/Meter";
import { Failure, Loading } from "../../ui/states";
import { Status } from "../../ui/Status";
import { toast } from "../../ui/toasts";
import { RunConfirmation, useRun } from "../tests/RunButtons";
import styles from "./Blame.module.css";
import { DraftQuery, DraftUpdate, type Draft, type TestOfPage } from "./query";

const Diff = lazy(() => import("../../ui/Diff"));

/** How often the restored prompt is tried. */
const trials = 8;

const SaveRestored = graphql(`
  mutation SaveRestored($input: UpdateAgentPromptInput!) {
    updateAgentPrompt(input: $input) { agent { id prompt promptVersion updatedAt } }
  }
`);

/** Tries the prompt with the cause restored in draft runs. It saves nothing. */
export function RestoreButton({ testId, prompt, cause, isQuiet, onStarted }: { testId: string; prompt: string; cause: readonly Change[]; isQuiet: boolean; onStarted: (executionId: string) => void }) {
  const run = useRun(onStarted);
  return (
    <>
      <Act
        scope="simulate"
        className={isQuiet ? "" : "primary"}
        disabled={run.isBusy}
        title={`Runs the test ${trials} times with a draft. Saves nothing.`}
        onClick={() => void run.ask({ testIds: [testId], prompt, repeats: trials })}
      >
        <Icon name="restore" />
        <span className="wide">{verbOf(cause)}</span>
        <span className="narrow">{verbOf(cause).split(" ")[0]}</span>
      </Act>
      <RunConfirmation run={run} />
    </>
  );
}

function verbOf(cause: readonly Change[]): string {
  if (cause.length > 1) return "Restore these sentences";
  const { before, after } = cause[0] ?? {};
  if (before === null) return "Remove this sentence";
  return before !== undefined && before === after ? "Move this sentence back" : "Restore this sentence";
}

/** Where the restored sentences go: the failing prompt with the change, and the lines around it. */
export function RestoredPrompt({ badVersion, from, to }: { badVersion: number; from: string; to: string }) {
  return (
    <section className={`card ${styles.wide}`} aria-labelledby="restored-title">
      <header>
        <h2 id="restored-title">Restored prompt</h2>
        <span className="push muted small">changes to v{badVersion}</span>
      </header>
      <div className="body">
        <Suspense fallback={<Loading lines={3} />}>
          <Diff from={from} to={to} />
        </Suspense>
      </div>
    </section>
  );
}

/** The result of the draft runs with the restored prompt, and the buttons that save it and run the test with it. */
export function Trial({ test, prompt, badVersion, draftId, refresh }: {
  test: TestOfPage;
  /** The restored prompt, if the key may read it. */
  prompt: string | undefined;
  /** The failing version, in which the cause was restored. */
  badVersion: number;
  draftId: string | undefined;
  /** Reads the page again. */
  refresh: () => void;
}) {
  const { agent } = test;
  const answer = usePage(DraftQuery, { id: draftId ?? "" }, { pause: !draftId });
  const draft = answer.data?.agentTestExecution ?? undefined;
  const isOver = draft?.status === "Completed" || draft?.status === "Cancelled";
  useFollowed(DraftUpdate, { id: draftId ?? "" }, !draft || isOver, answer.refresh);
  const save = useAction(SaveRestored);
  const isConflict = useConflict(save.error, refresh);
  const isMoved = agent.promptVersion !== badVersion;
  const isGood = isOver && draft.counts.total > 0 && draft.counts.passed === draft.counts.total;
  const store = async () => {
    const saved = await save.run({ input: { agentId: agent.id, prompt: prompt ?? "", expectedVersion: badVersion } });
    if (saved?.updateAgentPrompt) toast(`Saved as v${saved.updateAgentPrompt.agent.promptVersion}.`);
  };
  return (
    <>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {save.error && !isConflict && <Failure error={save.error} />}
      {isConflict && (
        <p className="note warn" role="alert">
          Somebody else saved v{agent.promptVersion} after you opened this page, so nothing was saved. Run the test with that version. If it fails, return to this page.
        </p>
      )}
      {(draft || isMoved) && (
        <div className={styles.bar} role="status" data-good={isGood}>
          {draft && <Result draft={draft} isOver={isOver} agentId={agent.id} />}
          {isMoved && !isConflict && <span className="muted">The prompt is v{agent.promptVersion} now.</span>}
          {isMoved && <RunAgain testId={test.id} agentId={agent.id} />}
          {!isMoved && prompt !== undefined && (
            <Act scope="write" className={isGood ? "primary push" : "push"} disabled={!isOver || save.isBusy} title={isOver ? undefined : "The draft runs are in progress"} onClick={() => void store()}>
              Save as v{badVersion + 1}
            </Act>
          )}
        </div>
      )}
    </>
  );
}

/** "8 of 8 pass", with a link to the runs. */
function Result({ draft, isOver, agentId }: { draft: Draft; isOver: boolean; agentId: string }) {
  const { total, passed, failed, error } = draft.counts;
  return (
    <>
      <Status of={!isOver ? "Running" : passed === total ? "Passed" : error > 0 ? "Error" : "Failed"} />
      <span>
        <b>
          {passed} of {total} pass
        </b>{" "}
        with the restored prompt
      </span>
      {!isOver && <Meter total={total} parts={[["passed", passed], ["failed", failed], ["error", error]]} />}
      <Link href={`/tests?agent=${agentId}&execution=${draft.id}`}>Draft runs</Link>
    </>
  );
}

/** Runs the test with the agent's prompt as it is now. */
function RunAgain({ testId, agentId }: { testId: string; agentId: string }) {
  const go = useGo();
  const run = useRun((id) => go(`/tests?agent=${agentId}&execution=${id}`));
  return (
    <>
      <Act scope="simulate" className="primary push" disabled={run.isBusy} onClick={() => void run.ask({ testIds: [testId], repeats: trials })}>
        <Icon name="play" />
        Run the test
      </Act>
      <RunConfirmation run={run} />
    </>
  );
}
