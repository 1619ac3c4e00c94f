import { useEffect, useState } from "react";
import { useClient } from "urql";
import { graphql } from "../../api/graphql";
import { priceText, totalOf } from "../../logic/estimate";
import { Dialog } from "../../ui/Dialog";
import { plural } from "../../ui/format";
import { errorText } from "../../ui/states";
import { toast } from "../../ui/toasts";
import { isReal } from "../chat/Coverage";
import { ConfirmRun, RealCalls, RunTests, type Coverage } from "../tests/RunButtons";
import type { AgentOfHome } from "./query";

const PlanQuery = graphql(`
  query ExecutionPlan($input: StartAgentTestExecutionInput!) {
    agentTestExecutionCoverage(input: $input) {
      simulations
      calls { agentId testIds call { kind targetId technicalName path effect } }
    }
    agentTestExecutionEstimate(input: $input) { runs runsAtMost seconds credits reviewCredits }
  }
`);

interface Props {
  agents: readonly AgentOfHome[];
  total: number;
  /** How many tests the agents have that the home page does not show. */
  others: number;
  onStarted: () => void;
  close: () => void;
}

interface RunPlan {
  coverage: Coverage;
  price: string;
}

/** Says what a run of all tests takes and which calls would be real, and starts an execution for each agent. */
export default function RunAll({ agents, total, others, onStarted, close }: Props) {
  const client = useClient();
  const [plan, setPlan] = useState<RunPlan>();
  const [isBusy, setBusy] = useState(false);
  const read = async () => {
    const answers = await Promise.all(agents.map(({ id }) => client.query(PlanQuery, { input: { agentId: id } }, { requestPolicy: "network-only" }).toPromise()));
    const failed = answers.find(({ error }) => error)?.error;
    const plans = answers.flatMap(({ data }) => data ?? []);
    if (!failed) setPlan(planOf(plans.map((each) => each.agentTestExecutionCoverage), priceOf(totalOf(plans.map((each) => each.agentTestExecutionEstimate)))));
    // Nothing runs while it is unknown which calls would be real.
    else {
      toast(errorText(failed), { isError: true });
      close();
    }
  };
  useEffect(() => void read(), []);
  const run = async () => {
    setBusy(true);
    const results = await Promise.all(agents.map(({ id }) => client.mutation(RunTests, { input: { agentId: id } }).toPromise()));
    const failed = results.find(({ error }) => error)?.error;
    if (failed) toast(errorText(failed), { isError: true });
    else toast(`${plural(total, "test")} of ${plural(agents.length, "agent")} started.`);
    close();
    onStarted();
  };
  const isRisky = plan?.coverage.calls.some(({ call }) => isReal(call)) ?? false;
  return (
    <Dialog title={isRisky ? "Run with real calls?" : "Run all tests?"} onClose={close}>
      <div className="stack">
        <p>{plan?.price ?? "Reading the price…"}</p>
        {others > 0 && <p>{plural(others, "test")} of older agents do not run: only the newest 100 agents are read here.</p>}
        {isRisky && plan && <RealCalls coverage={plan.coverage} />}
        <ConfirmRun verb={`Run ${plural(total, "test")}`} isDanger={isRisky} disabled={!plan || isBusy} run={() => void run()} close={close} />
      </div>
    </Dialog>
  );
}

function priceOf(total: ReturnType<typeof totalOf>): string {
  return `${priceText(total)}.${total.credits === null ? " The credits are not known, because no earlier run recorded any." : ""}`;
}

function planOf(coverages: readonly Coverage[], price: string): RunPlan {
  return { price, coverage: { simulations: coverages.reduce((sum, { simulations }) => sum + simulations, 0), calls: coverages.flatMap(({ calls }) => calls) } };
}
