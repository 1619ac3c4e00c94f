import { useState } from "react";
import { Link, useParams, useSearchParams } from "wouter";
import { useFollowed, useLive } from "../api/live";
import { useAction, usePage } from "../api/page";
import { byVersion } from "../logic/blame";
import { newsOf } from "../logic/cause";
import { inRow } from "../logic/rows";
import { Act, may } from "../ui/Act";
import { shortCredits } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Page } from "../ui/Page";
import { Empty, errorText, Shown } from "../ui/states";
import { Status } from "../ui/Status";
import { toast } from "../ui/toasts";
import styles from "./blame/Blame.module.css";
import { Changes } from "./blame/Changes";
import { priceOf, Proof } from "./blame/Proof";
import { BlameQuery, BlameUpdate, CancelBlame, DraftUpdate, StartBlame, type Blame, type BlameSearch, type Draft, type TestOfPage } from "./blame/query";
import { RestoredPrompt, RestoreButton, Trial } from "./blame/Restore";
import { TestTabs } from "./blame/TestTabs";
import { ThenAndNow } from "./blame/ThenAndNow";

/** The number of runs in each step of a search. */
const repeats = 5;

/** What broke a red test: the sentence that was lost, the answers before and after, and the proof. */
export default function BlamePage() {
  const { id = "" } = useParams<{ id: string }>();
  const answer = usePage(BlameQuery, { id, repeats, seesPrompt: may("prompts"), seesMessages: may("contacts") }, { onFocus: true });
  return (
    <Shown answer={answer} missing={`test ${id}`}>
      {({ agentTest: test }) => test && (test.blame ? <Red test={test} blame={test.blame} refresh={answer.refresh} /> : <Unexplained test={test} />)}
    </Shown>
  );
}

/** The page of a test with nothing to explain. */
function Unexplained({ test }: { test: TestOfPage }) {
  const isGreen = test.lastRunStatus === "Passed";
  const title = isGreen ? "This test is green" : test.failingSince ? "This test never passed" : "This test is not red";
  return (
    <Page title={test.name} name={`What broke it: ${test.name}`} crumbs={crumbsOf(test)} tabs={<TestTabs runId={test.lastRunId} testId={test.id} current="blame" />}>
      <Empty title={title} icon={isGreen ? "passed" : "tests"} action={<Link className="button" href={`/tests?agent=${test.agent.id}`}>All tests of {test.agent.name}</Link>}>
        {isGreen ? "Nothing broke it." : test.failingSince ? "Without a run that passed, there is nothing to compare the failure with." : "Its newest judged run did not fail."}
      </Empty>
    </Page>
  );
}

function crumbsOf({ agent }: TestOfPage) {
  return [
    { to: "/tests", text: "Tests" },
    { to: `/tests?agent=${agent.id}`, text: agent.name },
  ];
}

function Red({ test, blame, refresh }: { test: TestOfPage; blame: Blame; refresh: () => void }) {
  const search = currentSearch(blame);
  const isRunning = search?.status === "Running";
  useFollowed(BlameUpdate, { id: search?.id ?? "", seesPrompt: may("prompts") }, !isRunning, refresh);
  const running = useStep(isRunning ? search.steps.find((step) => step.judged === null)?.executionId : undefined);
  const [params, setParams] = useSearchParams();
  const draftId = params.get("draft") ?? undefined;
  const changes = search?.changes ?? blame.changes;
  const versions = { good: search?.goodVersion ?? blame.goodVersion, bad: search?.badVersion ?? blame.badVersion };
  const causes = new Set(search?.cause.map(({ number }) => number));
  const cause = changes.filter(({ number }) => causes.has(number));
  const suspects = changes.filter(({ isSuspect }) => isSuspect);
  const news = newsOf(changes, suspects, cause, search, versions);
  const isMoved = test.agent.promptVersion !== versions.bad;
  const edit = `/tests?agent=${test.agent.id}&edit=${test.id}`;
  const restored = !isRunning && search?.restoredPrompt ? search.restoredPrompt : undefined;
  return (
    <Page
      title={inRow(test.name, blame)}
      name={`What broke it: ${test.name}`}
      crumbs={crumbsOf(test)}
      facts={<Status of="Failed" />}
      tabs={<TestTabs runId={blame.badRun.id} testId={test.id} current="blame" />}
      more={
        <Link className="narrow" href={edit}>
          Edit test
        </Link>
      }
      actions={
        <>
          <Link className="button wide" href={edit}>
            Edit test
          </Link>
          {/* A newer prompt than the failing one must not be replaced by a restored older one. */}
          {restored ? !isMoved && (
            <RestoreButton testId={test.id} prompt={restored} cause={cause} isQuiet={draftId !== undefined} onStarted={(id) => setParams({ draft: id }, { replace: true })} />
          ) : changes.length > 0 && (
            <FindButton testId={test.id} blame={blame} isAgain={search !== undefined} isRunning={isRunning} isQuiet={isMoved} onStarted={refresh} />
          )}
        </>
      }
    >
      <div className={styles.news}>
        <h2>{news.title}</h2>
        <p className="muted">
          {news.text} <Rates test={test} good={versions.good} bad={versions.bad} />
        </p>
      </div>
      <Limits />
      {isRunning && <Searching search={search} />}
      <Trial key={draftId} test={test} prompt={restored} badVersion={versions.bad} draftId={draftId} refresh={refresh} />
      <div className={styles.blame}>
        {changes.length > 0 && (
          <>
            <Changes agentId={test.agent.id} {...versions} changes={changes} focus={cause.length > 0 ? cause : suspects} />
            <Proof blame={blame} search={search} changes={changes} cause={cause} running={running} />
          </>
        )}
        {restored && !isMoved && test.agent.prompt !== undefined && <RestoredPrompt badVersion={versions.bad} from={test.agent.prompt} to={restored} />}
        {may("contacts") && <ThenAndNow blame={blame} />}
      </div>
    </Page>
  );
}

/** The last search, unless it compared other prompts or another row. One in progress is always shown. */
function currentSearch({ search, goodVersion, badVersion, rowNumber }: Blame): BlameSearch | undefined {
  if (!search) return undefined;
  const isSame = search.goodVersion === goodVersion && search.badVersion === badVersion && search.rowNumber === rowNumber;
  return isSame || search.status === "Running" ? search : undefined;
}

/** The state of the step in progress. */
function useStep(executionId: string | undefined): Draft | undefined {
  const [step, setStep] = useState<Draft>();
  useLive(DraftUpdate, { id: executionId ?? "" }, ({ agentTestExecutionUpdated }) => setStep(agentTestExecutionUpdated), !executionId);
  return step;
}

/** "v1 passed 15 of 15 runs, v2 0 of 5." */
function Rates({ test, good, bad }: { test: TestOfPage; good: number; bad: number }) {
  const versions = byVersion(test.history);
  const [then, now] = [good, bad].map((of) => versions.find(({ version }) => version === of));
  if (good === bad || !then || !now) return null;
  return (
    <span>
      The test passed {then.passed} of {then.judged} times with v{good}, and {now.passed} of {now.judged} with v{bad}.
    </span>
  );
}

function FindButton({ testId, blame, isAgain, isRunning, isQuiet, onStarted }: { testId: string; blame: Blame; isAgain: boolean; isRunning: boolean; isQuiet: boolean; onStarted: () => void }) {
  const start = useAction(StartBlame);
  const { estimate } = blame;
  const verb = isAgain && !isRunning ? "Search again" : "Find the cause";
  const search = async () => {
    const made = await start.run({ input: { testId, repeats }, seesPrompt: may("prompts") }, {}, (error) => toast(errorText(error), { isError: true }));
    if (made) onStarted();
  };
  const price = estimate.credits === null ? `${estimate.runs} runs` : `${shortCredits(estimate.credits)} credits`;
  return (
    <Act
      scope="simulate"
      className={isQuiet ? "" : "primary"}
      disabled={start.isBusy || isRunning}
      title={isRunning ? "The search is in progress" : `At most ${priceOf(estimate.runsAtMost, estimate.creditsAtMost)}`}
      onClick={() => void search()}
    >
      <Icon name="search" />
      <span className="wide">
        {verb}, about {price}
      </span>
      <span className="narrow">{verb}</span>
    </Act>
  );
}

/** A search in progress. Its only button cancels it. */
function Searching({ search }: { search: BlameSearch }) {
  const cancel = useAction(CancelBlame);
  const runs = search.steps.reduce((sum, step) => sum + (step.judged ?? 0), 0);
  return (
    <div className={styles.bar} role="status">
      <Status of="Running" />
      <span>
        Step {Math.max(1, search.steps.length)}, {runs} of at most {search.runsAtMost} runs
      </span>
      <Act
        scope="simulate"
        className="push"
        disabled={cancel.isBusy}
        onClick={() => void cancel.run({ input: { searchId: search.id } }, {}, (error) => toast(errorText(error), { isError: true }))}
      >
        <Icon name="stop" />
        Cancel search
      </Act>
    </div>
  );
}

const uses = { prompts: "sentences are hidden", contacts: "conversations are hidden", simulate: "nothing can be searched or tried", write: "nothing can be saved" } as const;

/** Says once which scopes are missing, and what does not work without them. */
function Limits() {
  const missing = (["prompts", "contacts", "simulate", "write"] as const).filter((scope) => !may(scope));
  if (missing.length === 0) return null;
  const and = new Intl.ListFormat("en");
  return (
    <p className="muted small">
      Your key lacks the {missing.length === 1 ? "scope" : "scopes"} {and.format(missing)}: {and.format(missing.map((scope) => uses[scope]))}.
    </p>
  );
}
