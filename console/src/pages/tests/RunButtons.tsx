import { useState } from "react";
import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import { Act } from "../../ui/Act";
import { errorText } from "../../ui/states";

export const RunTests = graphql(`
  mutation RunTests($input: StartAgentTestExecutionInput!) {
    startAgentTestExecution(input: $input) { execution { id status counts { total } } }
  }
`);

/** Runs the ticked tests, or all, as often as chosen. */
export function RunButtons({ agentId, isEmpty, ticked, onStarted }: {
  agentId: string;
  /** There is no test to run. */
  isEmpty: boolean;
  ticked: ReadonlySet<string>;
  onStarted: (executionId: string) => void;
}) {
  const start = useAction(RunTests);
  const [repeats, setRepeats] = useState(5);
  const run = async () => {
    const what = ticked.size > 0 ? { testIds: [...ticked] } : { agentId };
    const made = await start.run({ input: { ...what, repeats } });
    if (made?.startAgentTestExecution) onStarted(made.startAgentTestExecution.execution.id);
  };
  return (
    <>
      {start.error && (
        <span className="note bad" role="alert">
          {errorText(start.error)}
        </span>
      )}
      <select aria-label="Attempts of each test" value={repeats} onChange={(event) => setRepeats(Number(event.target.value))}>
        {[1, 2, 3, 4, 5, 10, 20].map((n) => (
          <option key={n} value={n}>
            ×{n}
          </option>
        ))}
      </select>
      <Act scope="simulate" className="primary" disabled={start.isBusy || isEmpty} onClick={() => void run()}>
        {ticked.size > 0 ? `Run selected (${ticked.size})` : "Run all"}
      </Act>
    </>
  );
}
