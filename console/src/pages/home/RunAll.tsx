import type { Client, OperationResult } from "@urql/core";
import { useEffect, useState } from "react";
import { useClient } from "urql";
import { graphql, type ResultOf } from "../../api/graphql";
import { priceText, totalOf, unknownPrice } from "../../logic/estimate";
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

/** The agents of a page of tests. */
const TestedQuery = graphql(`
  query TestedAgents($after: String) {
    agentTests(first: 100, after: $after) {
      pageInfo { hasNextPage endCursor }
      nodes { __typename id agent { id all: tests(first: 1) { totalCount } } }
    }
  }
`);

type Tested = Pick<AgentOfHome, "id" | "all">;

/** How many agents run at once, and how many pages of tests are read to find them. */
const [mostAgents, mostPages] = [100, 10];

interface Props {
  /** The newest agents. */
  agents: readonly AgentOfHome[];
  /** How many tests all agents have. */
  all: number;
  onStarted: () => void;
  close: () => void;
}

interface RunPlan {
  agents: readonly Tested[];
  coverage: Coverage;
  price: string;
}

/** Says what a run of all tests takes and which calls would be real, and starts an execution for each agent. */
export default function RunAll({ agents: newest, all, onStarted, close }: Props) {
  const client = useClient();
  const [plan, setPlan] = useState<RunPlan>();
  const [isBusy, setBusy] = useState(false);
  const agents = plan?.agents ?? [];
  const total = sumOf(agents);
  const read = async () => {
    const agents = (await testedAgents(client, newest, all)).slice(0, mostAgents);
    const answers = await Promise.all(agents.map(({ id }) => client.query(PlanQuery, { input: { agentId: id } }, { requestPolicy: "network-only" }).toPromise()));
    const failed = answers.find(({ error }) => error)?.error;
    const plans = answers.flatMap(({ data }) => data ?? []);
    if (!failed) setPlan(planOf(agents, plans.map((each) => each.agentTestExecutionCoverage), priceOf(totalOf(plans.map((each) => each.agentTestExecutionEstimate)))));
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
        {plan && all > total && <p>{plural(all - total, "test")} of other agents do not run: this starts the tests of at most {mostAgents} agents.</p>}
        {isRisky && plan && <RealCalls coverage={plan.coverage} />}
        <ConfirmRun verb={`Run ${plural(plan ? total : all, "test")}`} isDanger={isRisky} disabled={!plan || isBusy} run={() => void run()} close={close} />
      </div>
    </Dialog>
  );
}

function priceOf(total: ReturnType<typeof totalOf>): string {
  return `${priceText(total)}.${unknownPrice(total.credits)}`;
}

const sumOf = (agents: readonly Tested[]) => agents.reduce((sum, agent) => sum + agent.all.totalCount, 0);

/** The agents with tests. If the newest do not have all tests, the pages of tests lead to the others. */
async function testedAgents(client: Client, newest: readonly Tested[], all: number): Promise<Tested[]> {
  const tested = new Map(newest.filter((agent) => agent.all.totalCount > 0).map((agent) => [agent.id, agent]));
  let after: string | null = null;
  for (let pages = 0; pages < mostPages && tested.size < mostAgents && sumOf([...tested.values()]) < all; pages++) {
    const { data }: OperationResult<ResultOf<typeof TestedQuery>> = await client.query(TestedQuery, { after }, { requestPolicy: "network-only" }).toPromise();
    for (const { agent } of data?.agentTests.nodes ?? []) tested.set(agent.id, agent);
    if (!data?.agentTests.pageInfo.hasNextPage) break;
    after = data.agentTests.pageInfo.endCursor;
  }
  return [...tested.values()];
}

function planOf(agents: readonly Tested[], coverages: readonly Coverage[], price: string): RunPlan {
  return { agents, price, coverage: { simulations: coverages.reduce((sum, { simulations }) => sum + simulations, 0), calls: coverages.flatMap(({ calls }) => calls) } };
}
