import { useState } from "react";
import type { CombinedError } from "@urql/core";
import { useClient, useQuery } from "urql";
import { graphql, type ResultOf, type VariablesOf } from "../../api/graphql";
import { useAction } from "../../api/page";
import { estimateText } from "../../logic/estimate";
import { stoppingOf, stoppings, usualRates, type StoppingName } from "../../logic/stopping";
import { plural } from "../../ui/format";
import { Act } from "../../ui/Act";
import { Dialog } from "../../ui/Dialog";
import { isReal } from "../chat/Coverage";
import { Icon } from "../../ui/Icon";
import { Pick } from "../../ui/Pick";
import { errorText } from "../../ui/states";
import { toast } from "../../ui/toasts";
import { Status } from "../../ui/Status";

export const RunTests = graphql(`
  mutation RunTests($input: StartAgentTestExecutionInput!) {
    startAgentTestExecution(input: $input) { execution { id status counts { total } } }
  }
`);

export const CoverageQuery = graphql(`
  query ExecutionCoverage($input: StartAgentTestExecutionInput!) {
    agentTestExecutionCoverage(input: $input) {
      simulations
      calls { agentId testIds call { kind targetId technicalName path effect } }
    }
  }
`);

export type Coverage = ResultOf<typeof CoverageQuery>["agentTestExecutionCoverage"];
type Input = VariablesOf<typeof RunTests>["input"];

/** How often tests run, and when their repetition stops. */
export interface RunChoice {
  repeats: number;
  stopping: StoppingName;
}

/** What to run: the selected tests or, without any, all of the agent. */
export interface Chosen {
  agentId: string;
  ticked: ReadonlySet<string>;
  choice: RunChoice;
}

export function inputOf({ agentId, ticked, choice: { repeats, stopping } }: Chosen): Input {
  return { ...(ticked.size > 0 ? { testIds: [...ticked] } : { agentId }), repeats, stopRepeating: repeats > 1 ? stoppingOf(stopping) : null };
}

const EstimateQuery = graphql(`
  query ExecutionEstimate($input: StartAgentTestExecutionInput!) {
    agentTestExecutionEstimate(input: $input) { runs runsAtMost seconds credits reviewCredits noticedFalls { repeats passRate } }
  }
`);

/** How many tests would run and, on request, an estimate of their cost and of what a comparison could show. */
export function Estimate({ isAsked, tests, ...chosen }: Chosen & { isAsked: boolean; tests: number }) {
  const [{ data }] = useQuery({ query: EstimateQuery, variables: { input: inputOf(chosen) }, pause: !isAsked });
  const { repeats } = chosen.choice;
  return <p className="muted">{data ? estimateText(data.agentTestExecutionEstimate) : `${plural(tests, "test")}, ${plural(repeats, "time")} each.`}</p>;
}

/** Chooses how often tests run. */
export function RunPicks({ choice, set }: { choice: RunChoice; set: (choice: RunChoice) => void }) {
  return (
    <>
      <Pick
        label="Attempts of each test"
        shown="Repeats"
        options={[1, 2, 3, 4, 5, 10, 20].map((n) => [String(n), String(n)] as const)}
        value={String(choice.repeats)}
        set={(value) => set({ ...choice, repeats: Number(value) })}
      />
      {choice.repeats > 1 && (
        <Pick
          label="Stop repeating a test"
          shown="Stop"
          title={`Decided: the pass rate is clearly at least ${usualRates.good * 100} %, or at most ${usualRates.bad * 100} %`}
          options={stoppings}
          value={choice.stopping}
          set={(value) => set({ ...choice, stopping: value as StoppingName })}
        />
      )}
    </>
  );
}

/** Starts executions, after `confirm` if some of their calls would be real. `RunConfirmation` asks. */
export function useRun(onStarted: (executionId: string) => void) {
  const start = useAction(RunTests);
  const client = useClient();
  const [isAsking, setAsking] = useState(false);
  /** The requested runs, with the calls that would be real. */
  const [unconfirmed, setUnconfirmed] = useState<{ input: Input; coverage: Coverage }>();
  const complain = (error: CombinedError) => toast(errorText(error), { isError: true });
  const run = async (input: Input) => {
    setUnconfirmed(undefined);
    const started = await start.run({ input }, {}, complain);
    if (started?.startAgentTestExecution) onStarted(started.startAgentTestExecution.execution.id);
  };
  const ask = async (input: Input) => {
    setAsking(true);
    const answer = await client.query(CoverageQuery, { input }, { requestPolicy: "network-only" });
    setAsking(false);
    const coverage = answer.data?.agentTestExecutionCoverage;
    // Nothing runs while it is unknown which calls would be real.
    if (answer.error) complain(answer.error);
    if (coverage?.calls.some(({ call }) => isReal(call))) setUnconfirmed({ input, coverage });
    else if (coverage) await run(input);
  };
  return { ask, unconfirmed, confirm: () => unconfirmed && run(unconfirmed.input), dismiss: () => setUnconfirmed(undefined), isBusy: isAsking || start.isBusy };
}

/** Runs the selected tests, or all, as often as chosen. */
export function RunButton({ isEmpty, isRunning, onStarted, ...chosen }: Chosen & {
  /** There is no test to run. */
  isEmpty: boolean;
  /** The execution that is shown is in progress. */
  isRunning: boolean;
  onStarted: (executionId: string) => void;
}) {
  const { ticked, choice: { repeats } } = chosen;
  const run = useRun(onStarted);
  return (
    <>
      <Act
        scope="simulate"
        className="primary"
        data-run
        disabled={run.isBusy || isEmpty || isRunning}
        title={isRunning ? "Tests are running" : isEmpty ? "There are no tests" : `Each test ${plural(repeats, "time")}`}
        onClick={() => void run.ask(inputOf(chosen))}
      >
        <Icon name="play" />
        {ticked.size > 0 ? `Run selected (${ticked.size})` : "Run all"}
      </Act>
      <RunConfirmation run={run} />
    </>
  );
}

/** Asks before an execution with real calls. */
export function RunConfirmation({ run }: { run: ReturnType<typeof useRun> }) {
  if (!run.unconfirmed) return null;
  return (
    <Dialog title="Run with real calls?" onClose={run.dismiss}>
      <RunAnyway coverage={run.unconfirmed.coverage} run={() => void run.confirm()} close={run.dismiss} />
    </Dialog>
  );
}

/** The possible real calls, with buttons to run or not. */
export function RunAnyway({ coverage, run, close }: { coverage: Coverage; run: () => void; close: () => void }) {
  return (
    <div className="stack">
      <RealCalls coverage={coverage} />
      <ConfirmRun verb="Run anyway" isDanger run={run} close={close} />
    </div>
  );
}

export function ConfirmRun({ verb, isDanger, disabled = false, run, close }: { verb: string; isDanger: boolean; disabled?: boolean; run: () => void; close: () => void }) {
  return (
    <div className="row">
      <button type="button" className="quiet push" onClick={close}>
        Cancel
      </button>
      <Act scope="simulate" className={isDanger ? "danger primary" : "primary"} disabled={disabled} onClick={run}>
        {verb}
      </Act>
    </div>
  );
}

/** The possible real calls and the numbers of mocked and denied ones. */
export function RealCalls({ coverage: { simulations, calls } }: { coverage: Coverage }) {
  const real = calls.filter(({ call }) => isReal(call));
  const countOf = (effect: string) => new Set(calls.filter(({ call }) => call.effect === effect).map(({ call }) => call.technicalName)).size;
  return (
    <>
      <p>The agent may make these real calls:</p>
      <ul className="stack tight">
        {real.map(({ call, agentId, testIds }) => (
          <li key={`${agentId} ${call.path.join("/")} ${call.technicalName}`} className="row">
            <Status of="Real" />
            <code>{[...call.path, call.technicalName].join(" › ")}</code>
            <span className="muted">
              in {testIds.length} of {plural(simulations, "simulation")}
            </span>
          </li>
        ))}
      </ul>
      <p className="muted">
        {countOf("Mocked")} mocked, {countOf("Denied")} denied. Set a test's mocks in toolMocking, over the API or in files.
      </p>
    </>
  );
}
