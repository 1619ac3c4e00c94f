import { lazy, Suspense } from "react";
import { Link, useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../api/graphql";
import { usePage } from "../api/page";
import { Act } from "../ui/Act";
import { Page } from "../ui/Page";
import { TestSummary } from "../ui/TestSummary";
import { Empty, Failure, Loading } from "../ui/states";
import { useNew } from "../ui/useNew";
import styles from "./Agents.module.css";
import { NewAgent } from "./NewAgent";

const AgentGraph = lazy(() => import("./AgentGraph"));

const AgentsQuery = graphql(`
  query Agents($first: Int!, $after: String, $filter: AgentFilter) {
    company { id agentTags }
    agents(first: $first, after: $after, filter: $filter) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes {
        id name channel direction language tags promptVersion knowledgeBaseChatName
        tools { id }
        subAgents { id agent { id name } }
        testExecutions(first: 1, filter: { isDraft: false }) { nodes { id status verdict finishedAt counts { total passed failed error } } }
      }
    }
  }
`);

type AgentRow = ResultOf<typeof AgentsQuery>["agents"]["nodes"][number];

const channels = ["Phone", "SMS", "Web", "WhatsApp"] as const;
const directions = ["Inbound", "Outbound"] as const;
const pageSize = 50;

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
      if (name !== "after") next.delete("after");
      return next;
    }, { replace: name === "q" });
  return (
    <Page
      title="Agents"
      actions={
        <>
          <ViewSwitch isGraph={isGraph} set={set} />
          <Act scope="write" className="primary" onClick={() => setNew("agent")}>
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
        <List params={params} set={set} />
      )}
      {made && <NewAgent onClose={() => setNew()} />}
    </Page>
  );
}

function ViewSwitch({ isGraph, set }: { isGraph: boolean; set: (name: string, value: string) => void }) {
  return (
    <div className={styles.views} role="group" aria-label="View">
      <button type="button" aria-pressed={!isGraph} onClick={() => set("view", "")}>
        List
      </button>
      <button type="button" aria-pressed={isGraph} onClick={() => set("view", "graph")}>
        Graph
      </button>
    </div>
  );
}

function List({ params, set }: { params: URLSearchParams; set: (name: string, value: string) => void }) {
  const channel = oneOf(channels, params.get("channel"));
  const direction = oneOf(directions, params.get("direction"));
  const tag = params.get("tag") ?? "";
  const nameContains = params.get("q") ?? "";
  const answer = usePage(
    AgentsQuery,
    {
      first: pageSize,
      after: params.get("after"),
      filter: { channel, direction, tags: tag ? [tag] : undefined, nameContains: nameContains || undefined },
    },
    { onFocus: true, keeps: true },
  );
  const agents = answer.data?.agents;
  const isFiltered = Boolean(channel || direction || tag || nameContains);
  return (
    <>
      <form className="row" role="search" onSubmit={(event) => event.preventDefault()}>
        <input type="search" aria-label="Name contains" placeholder="Name contains…" defaultValue={nameContains} onChange={(e) => set("q", e.target.value)} />
        <Choice label="Channel" none="Any channel" values={channels} value={channel ?? ""} set={(v) => set("channel", v)} />
        <Choice label="Direction" none="Either direction" values={directions} value={direction ?? ""} set={(v) => set("direction", v)} />
        {(answer.data?.company.agentTags.length ?? 0) > 0 && (
          <Choice label="Tag" none="Any tag" values={answer.data?.company.agentTags ?? []} value={tag} set={(v) => set("tag", v)} />
        )}
        {agents && <span className="muted push">{agents.totalCount} total</span>}
      </form>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!agents && !answer.error && <Loading lines={10} />}
      {agents?.nodes.length === 0 &&
        !answer.isOld &&
        (isFiltered ? (
          <Empty title="No agents match these filters.">
            <Link href="/agents">Show all agents</Link>
          </Empty>
        ) : (
          <Empty title="There are no agents yet.">
            Create one, or load a company with eight of them: <code>agentgraph dev</code> on an empty database.
          </Empty>
        ))}
      {agents && agents.nodes.length > 0 && (
        <div className="card scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Channel</th>
                <th scope="col" className="wide">Language</th>
                <th scope="col" className="wide">Prompt</th>
                <th scope="col" className="number wide">
                  Tools
                </th>
                <th scope="col" className="wide">Delegates to</th>
                <th scope="col" className="wide">Knowledge</th>
                <th scope="col">Last tests</th>
              </tr>
            </thead>
            <tbody>
              {agents.nodes.map((agent) => (
                <Row key={agent.id} agent={agent} setTag={(t) => set("tag", t)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {agents?.pageInfo.hasNextPage && !answer.isOld && (
        <div>
          <button type="button" onClick={() => set("after", agents.pageInfo.endCursor ?? "")}>
            Next {pageSize}
          </button>
        </div>
      )}
    </>
  );
}

function Choice({ label, none, values, value, set }: {
  label: string;
  none: string;
  values: readonly string[];
  value: string;
  set: (value: string) => void;
}) {
  return (
    <select aria-label={label} value={value} onChange={(event) => set(event.target.value)}>
      <option value="">{none}</option>
      {values.map((v) => (
        <option key={v}>{v}</option>
      ))}
    </select>
  );
}

function Row({ agent, setTag }: { agent: AgentRow; setTag: (tag: string) => void }) {
  const execution = agent.testExecutions.nodes[0];
  return (
    <tr>
      <th scope="row" className={styles.name}>
        <Link href={`/agents/${agent.id}`}>{agent.name}</Link>
        <div className={styles.tags}>
          {agent.tags.map((tag) => (
            <button key={tag} type="button" onClick={() => setTag(tag)} aria-label={`Only agents tagged ${tag}`}>
              #{tag}
            </button>
          ))}
        </div>
      </th>
      <td className="nowrap">
        {agent.channel}, {agent.direction === "Inbound" ? "in" : "out"}
      </td>
      <td className="wide">{agent.language}</td>
      <td className="wide">
        <Link href={`/agents/${agent.id}/versions`}>v{agent.promptVersion}</Link>
      </td>
      <td className="number wide">{agent.tools.length}</td>
      <td className="wide">
        {agent.subAgents.map((sub) => (
          <div key={sub.id}>
            <Link href={`/agents/${sub.agent.id}`}>{sub.agent.name}</Link>
          </div>
        ))}
        {agent.subAgents.length === 0 && <span className="muted">none</span>}
      </td>
      <td className="wide">{agent.knowledgeBaseChatName ?? <span className="muted">none</span>}</td>
      <td>{execution ? <TestSummary agentId={agent.id} execution={execution} /> : <span className="muted">never run</span>}</td>
    </tr>
  );
}
