import { lazy, Suspense } from "react";
import { Link, useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../api/graphql";
import { usePage } from "../api/page";
import { withoutOverrides } from "../logic/names";
import { Act } from "../ui/Act";
import { Avatar } from "../ui/Avatar";
import { Cells } from "../ui/Cells";
import { Channel } from "../ui/Channel";
import { Find } from "../ui/Find";
import { count, plural } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Page } from "../ui/Page";
import { pageAt, Pager } from "../ui/Pager";
import { Pick } from "../ui/Pick";
import { Segment } from "../ui/Segment";
import { SortHead, useSort, type Order } from "../ui/Sort";
import { Empty, Failure, Loading } from "../ui/states";
import { Time } from "../ui/Time";
import { useNew } from "../ui/useNew";
import styles from "./Agents.module.css";
import { NewAgent } from "./NewAgent";

const AgentGraph = lazy(() => import("./AgentGraph"));

const AgentsQuery = graphql(`
  query Agents($first: Int, $after: String, $last: Int, $before: String, $filter: AgentFilter) {
    company { id agentTags }
    agents(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
      totalCount
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      nodes {
        id name channel direction language tags promptVersion
        subAgents { id agent { id name } }
        simulationChats(first: 1) { totalCount }
        all: tests(first: 1) { totalCount }
        passed: tests(first: 1, filter: { lastRunStatuses: [Passed] }) { totalCount }
        failed: tests(first: 1, filter: { lastRunStatuses: [Failed] }) { totalCount }
        error: tests(first: 1, filter: { lastRunStatuses: [Error] }) { totalCount }
        testExecutions(first: 1, filter: { isDraft: false }) { nodes { id status createdAt } }
      }
    }
  }
`);

type AgentRow = ResultOf<typeof AgentsQuery>["agents"]["nodes"][number];

const channels = ["Phone", "SMS", "Web", "WhatsApp"] as const;
const directions = ["Inbound", "Outbound"] as const;
const pageSize = 100;

function oneOf<T extends string>(values: readonly T[], value: string | null): T | undefined {
  return values.find((v) => v === value);
}

/** All agents of the company, as a list or as the graph of their delegations. */
export default function Agents() {
  const [params, setParams] = useSearchParams();
  const [made, setNew] = useNew();
  const isGraph = params.get("view") === "graph";
  const set = (name: string, value: string) =>
    setParams((previous) => {
      const next = new URLSearchParams(previous);
      if (value) next.set(name, value);
      else next.delete(name);
      next.delete("after");
      next.delete("before");
      return next;
    }, { replace: name === "q" });
  return (
    <Page
      title="Agents"
      isFull={isGraph}
      actions={
        <>
          <Segment
            label="View"
            options={[
              ["", "List"],
              ["graph", "Graph"],
            ]}
            value={isGraph ? "graph" : ""}
            set={(view) => set("view", view)}
          />
          <Act scope="write" className="primary" onClick={() => setNew("agent")}>
            <Icon name="plus" />
            New agent
          </Act>
        </>
      }
    >
      {isGraph ? (
        <Suspense fallback={<Loading />}>
          <AgentGraph />
        </Suspense>
      ) : (
        <List params={params} set={set} create={() => setNew("agent")} />
      )}
      {made && <NewAgent onClose={() => setNew()} />}
    </Page>
  );
}

function List({ params, set, create }: { params: URLSearchParams; set: (name: string, value: string) => void; create: () => void }) {
  const channel = oneOf(channels, params.get("channel"));
  const direction = oneOf(directions, params.get("direction"));
  const tag = params.get("tag") ?? "";
  const nameContains = params.get("q") ?? "";
  const answer = usePage(
    AgentsQuery,
    {
      ...pageAt(params, pageSize),
      filter: { channel, direction, tags: tag ? [tag] : undefined, nameContains: nameContains || undefined },
    },
    { onFocus: true, keeps: true },
  );
  const agents = answer.data?.agents;
  const tags = answer.data?.company.agentTags ?? [];
  const any = (values: readonly string[]) => [["", "Any"] as const, ...values.map((v) => [v, v] as const)];
  return (
    <>
      <form className="toolbar" role="search" onSubmit={(event) => event.preventDefault()}>
        <Find label="Find an agent" value={nameContains} set={(text) => set("q", text)} />
        <Pick label="Channel" options={any(channels)} value={channel ?? ""} set={(v) => set("channel", v)} />
        <Pick label="Direction" options={any(directions)} value={direction ?? ""} set={(v) => set("direction", v)} />
        {tags.length > 0 && <Pick label="Tag" options={any(tags)} value={tag} set={(v) => set("tag", v)} />}
        {agents && <span role="status" className="muted small push">{plural(agents.totalCount, "agent")}{agents.totalCount > pageSize && ", newest first"}</span>}
      </form>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!agents && !answer.error && <Loading lines={8} />}
      {agents?.nodes.length === 0 && !answer.isOld && <NoAgents isFiltered={Boolean(channel || direction || tag || nameContains)} create={create} />}
      {agents && agents.nodes.length > 0 && <Table agents={agents.nodes} isAll={!agents.pageInfo.hasNextPage && !agents.pageInfo.hasPreviousPage} />}
      <Pager of={agents} size={pageSize} isOld={answer.isOld} />
      {agents && agents.totalCount > pageSize && !answer.isOld && <p className="muted small">To sort columns, filter the list to at most {pageSize} agents.</p>}
    </>
  );
}

function NoAgents({ isFiltered, create }: { isFiltered: boolean; create: () => void }) {
  if (isFiltered) {
    return (
      <Empty icon="search" title="No agents match these filters" action={<Link className="button" href="/agents">Show all agents</Link>}>
        Change a filter above, or show all.
      </Empty>
    );
  }
  return (
    <Empty
      icon="agents"
      title="No agents yet"
      action={
        <Act scope="write" className="primary" onClick={create}>
          <Icon name="plus" />
          New agent
        </Act>
      }
    >
      An agent has a prompt, tools and tests. <code>agentgraph dev</code> on an empty database creates eight agents.
    </Empty>
  );
}

type Column = "name" | "channel" | "prompt" | "chats" | "tests" | "run";

const red = (agent: AgentRow) => agent.failed.totalCount + agent.error.totalCount;

/** Values to sort by. The tests sort by how many are red, then by how many pass. */
const values: Record<Column, (agent: AgentRow) => string | number> = {
  name: (agent) => agent.name,
  channel: (agent) => `${agent.channel} ${agent.direction}`,
  prompt: (agent) => agent.promptVersion,
  chats: (agent) => agent.simulationChats.totalCount,
  tests: (agent) => red(agent) * 1_000_000 + agent.passed.totalCount,
  run: (agent) => Date.parse(agent.testExecutions.nodes[0]?.createdAt ?? "") || 0,
};

const worstFirst: Order<Column> = { by: "tests", isDown: true };

/** The agents, sortable if all of them are loaded. */
function Table({ agents, isAll }: { agents: readonly AgentRow[]; isAll: boolean }) {
  const { rows, order, sort } = useSort(agents, worstFirst, isAll ? values : undefined);
  return (
    <div className="card scroll">
      <table className={styles.agents}>
        <thead>
          <tr>
            <SortHead by="name" text="Agent" order={order} sort={sort} />
            <SortHead by="channel" text="Channel" order={order} sort={sort} className="wide" />
            <SortHead by="prompt" text="Prompt" order={order} sort={sort} className="wide" />
            <th scope="col" className="wide">
              Delegates to
            </th>
            <SortHead by="chats" text="Chats" order={order} sort={sort} className="number wide" />
            <SortHead by="tests" text="Tests" order={order} sort={sort} />
            <SortHead by="run" text="Last run" order={order} sort={sort} className="number wide" />
          </tr>
        </thead>
        <tbody>
          {rows.map((agent) => (
            <Row key={agent.id} agent={agent} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ agent }: { agent: AgentRow }) {
  const [all, passed, failed, error] = [agent.all, agent.passed, agent.failed, agent.error].map(({ totalCount }) => totalCount) as [number, number, number, number];
  const execution = agent.testExecutions.nodes[0];
  const isRunning = execution && ["Queued", "Running"].includes(execution.status);
  return (
    <tr data-go>
      <th scope="row">
        <span className={styles.name}>
          <Avatar agent={agent} />
          <Link href={`/agents/${agent.id}`} title={agent.tags.length > 0 ? `Tags: ${agent.tags.join(", ")}` : undefined}>
            {withoutOverrides(agent.name)}
          </Link>
        </span>
      </th>
      <td className="wide">
        <Channel channel={agent.channel} direction={agent.direction} />
      </td>
      <td className="wide">
        <Link className="quiet muted" href={`/agents/${agent.id}/versions`}>
          v{agent.promptVersion}
        </Link>
      </td>
      <td className="wide">
        <span className={styles.faces}>
          {agent.subAgents.map((sub) => (
            <Link key={sub.id} href={`/agents/${sub.agent.id}`} title={sub.agent.name}>
              <Avatar agent={sub.agent} size="tiny" />
              <span className="unseen">{sub.agent.name}</span>
            </Link>
          ))}
        </span>
      </td>
      <td className="number wide">{count(agent.simulationChats.totalCount)}</td>
      <td>
        <Link href={`/tests?agent=${agent.id}`} className={styles.tests}>
          <Cells passed={passed} failed={failed} error={error} other={all - passed - failed - error} />
          <span className="muted small">{passed + failed + error > 0 ? `${count(passed)}/${count(all)}` : "–"}</span>
        </Link>
      </td>
      <td className="number wide muted">{isRunning ? "now" : execution ? <Time at={execution.createdAt} /> : "–"}</td>
    </tr>
  );
}
