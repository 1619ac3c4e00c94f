import { useState } from "react";
import { useClient } from "urql";
import { Act } from "../../ui/Act";
import { Dialog } from "../../ui/Dialog";
import { count, plural } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { errorText } from "../../ui/states";
import { toast } from "../../ui/toasts";
import { isReal } from "../chat/Coverage";
import { CoverageQuery, Doubts, RunTests, type Coverage } from "../tests/RunButtons";
import type { AgentOfHome } from "./query";

/** Runs the tests of all agents once, as an execution for each agent. It asks first if any call would be real. */
export function RunAllTests({ agents, isRunning, onStarted }: { agents: readonly AgentOfHome[]; isRunning: boolean; onStarted: () => void }) {
  const client = useClient();
  const [isBusy, setBusy] = useState(false);
  const [doubted, setDoubted] = useState<Coverage>();
  const tested = agents.filter((agent) => agent.all.totalCount > 0);
  const total = tested.reduce((sum, agent) => sum + agent.all.totalCount, 0);
  const ask = async () => {
    setBusy(true);
    const answers = await Promise.all(tested.map(({ id }) => client.query(CoverageQuery, { input: { agentId: id } }, { requestPolicy: "network-only" }).toPromise()));
    const failed = answers.find(({ error }) => error)?.error;
    const coverages = answers.flatMap(({ data }) => (data ? [data.agentTestExecutionCoverage] : []));
    const coverage = { simulations: coverages.reduce((sum, { simulations }) => sum + simulations, 0), calls: coverages.flatMap(({ calls }) => calls) };
    // Nothing runs while it is unknown which calls would be real.
    if (failed) toast(errorText(failed), { isError: true });
    else if (coverage.calls.some(({ call }) => isReal(call))) setDoubted(coverage);
    else await run();
    setBusy(false);
  };
  const run = async () => {
    setDoubted(undefined);
    const results = await Promise.all(tested.map(({ id }) => client.mutation(RunTests, { input: { agentId: id } }).toPromise()));
    const failed = results.find(({ error }) => error)?.error;
    if (failed) toast(errorText(failed), { isError: true });
    else toast(`${plural(total, "test")} of ${plural(tested.length, "agent")} started.`);
    onStarted();
  };
  if (total === 0) return null;
  return (
    <>
      <Act
        scope="simulate"
        className="primary"
        disabled={isBusy || isRunning}
        title={isRunning ? "Tests are running" : `${plural(total, "test")} of ${plural(tested.length, "agent")}, once each`}
        onClick={() => void ask()}
      >
        <Icon name="play" />
        Run all tests
        <span className="unseen"> ({count(total)})</span>
      </Act>
      {doubted && (
        <Dialog title="Run with real calls?" onClose={() => setDoubted(undefined)}>
          <Doubts coverage={doubted} verb={`Run ${plural(total, "test")}`} run={() => void run()} close={() => setDoubted(undefined)} />
        </Dialog>
      )}
    </>
  );
}
