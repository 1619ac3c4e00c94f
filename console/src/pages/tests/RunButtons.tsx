import { useState } from "react";
import type { CombinedError } from "@urql/core";
import { useClient } from "urql";
import { graphql, type ResultOf, type VariablesOf } from "../../api/graphql";
import { useAction } from "../../api/page";
import { stoppingOf, stoppings, usualRates, type StoppingName } from "../../logic/stopping";
import { plural } from "../../ui/format";
import { Act } from "../../ui/Act";
import { Dialog } from "../../ui/Dialog";
import { isReal } from "../chat/Coverage";
import { errorText } from "../../ui/states";
import { Status } from "../../ui/Status";

export const RunTests = graphql(`
  mutation RunTests($input: StartAgentTestExecutionInput!) {
    startAgentTestExecution(input: $input) { execution { id status counts { total } } }
  }
`);

const CoverageQuery = graphql(`
  query ExecutionCoverage($input: StartAgentTestExecutionInput!) {
    agentTestExecutionCoverage(input: $input) {
      simulations
      calls { agentId testIds call { kind targetId technicalName path effect } }
    }
  }
`);

type Coverage = ResultOf<typeof CoverageQuery>["agentTestExecutionCoverage"];
type Input = VariablesOf<typeof RunTests>["input"];

/** Runs the selected tests, or all, as often as chosen. */
export function RunButtons({ agentId, isEmpty, ticked, onStarted }: {
  agentId: string;
  /** There is no test to run. */
  isEmpty: boolean;
  ticked: ReadonlySet<string>;
  onStarted: (executionId: string) => void;
}) {
  const start = useAction(RunTests);
  const client = useClient();
  const [repeats, setRepeats] = useState(5);
  const [stopping, setStopping] = useState<StoppingName>("all");
  const [isAsking, setAsking] = useState(false);
  /** The requested runs, with the calls that would be real. */
  const [doubted, setDoubted] = useState<{ input: Input; coverage: Coverage }>();
  const [unknown, setUnknown] = useState<CombinedError>();
  const error = unknown ?? start.error;
  const input: Input = { ...(ticked.size > 0 ? { testIds: [...ticked] } : { agentId }), repeats, stopRepeating: repeats > 1 ? stoppingOf(stopping) : null };
  const ask = async () => {
    setAsking(true);
    const covered = await client.query(CoverageQuery, { input }, { requestPolicy: "network-only" });
    setAsking(false);
    const coverage = covered.data?.agentTestExecutionCoverage;
    // Nothing runs while it is unknown which calls would be real.
    setUnknown(covered.error);
    if (coverage?.calls.some(({ call }) => isReal(call))) setDoubted({ input, coverage });
    else if (coverage) await run(input);
  };
  const run = async (asked: Input) => {
    setDoubted(undefined);
    const made = await start.run({ input: asked });
    if (made?.startAgentTestExecution) onStarted(made.startAgentTestExecution.execution.id);
  };
  return (
    <>
      {error && (
        <span className="note bad" role="alert">
          {errorText(error)}
        </span>
      )}
      <select aria-label="Attempts of each test" value={repeats} onChange={(event) => setRepeats(Number(event.target.value))}>
        {[1, 2, 3, 4, 5, 10, 20].map((n) => (
          <option key={n} value={n}>
            ×{n}
          </option>
        ))}
      </select>
      {repeats > 1 && (
        <select
          aria-label="Stop repeating a test"
          title={`Decided: the pass rate is clearly at least ${usualRates.good * 100} %, or at most ${usualRates.bad * 100} %`}
          value={stopping}
          onChange={(event) => setStopping(event.target.value as StoppingName)}
        >
          {stoppings.map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
      )}
      <Act scope="simulate" className="primary" disabled={isAsking || start.isBusy || isEmpty} onClick={() => void ask()}>
        {ticked.size > 0 ? `Run selected (${ticked.size})` : "Run all"}
      </Act>
      {doubted && (
        <Dialog title="Real calls are possible" onClose={() => setDoubted(undefined)}>
          <div className="stack">
            <Doubts coverage={doubted.coverage} />
            <div className="row">
              <Act scope="simulate" className="danger" onClick={() => void run(doubted.input)}>
                Run anyway
              </Act>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** The possible real calls, and the numbers of mocked and denied ones. */
function Doubts({ coverage: { simulations, calls } }: { coverage: Coverage }) {
  const real = calls.filter(({ call }) => isReal(call));
  const among = (effect: string) => new Set(calls.filter(({ call }) => call.effect === effect).map(({ call }) => call.technicalName)).size;
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
        {among("Mocked")} mocked, {among("Denied")} denied. Set a test's mocks in toolMocking, over the API or in files.
      </p>
    </>
  );
}
