import { Graph, layout } from "dagre";
import { useMemo, useState, type KeyboardEvent } from "react";
import { Link, useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../api/graphql";
import { usePage } from "../api/page";
import { around, isCycle } from "../logic/delegation";
import { plural } from "../ui/format";
import { Empty, Failure, Loading } from "../ui/states";
import styles from "./AgentGraph.module.css";

const AgentGraphQuery = graphql(`
  query AgentGraph($first: Int!) {
    agents(first: $first) {
      totalCount
      nodes {
        id name channel direction
        tools { id name technicalName }
        subAgents { id name technicalName agent { id } }
        knowledgeBaseChat { id name datasets { id name documentCount } }
      }
    }
  }
`);

type AgentNode = ResultOf<typeof AgentGraphQuery>["agents"]["nodes"][number];

const width = 212;
const height = 62;

/** The most agents that are drawn by default. */
const readable = 60;
/** How many delegations around the selected agent are drawn if there are more agents. */
const defaultDepth = 2;

/** The agents and their delegations, as a drawing and as a list. */
export default function AgentGraph() {
  const answer = usePage(AgentGraphQuery, { first: 100 });
  const agents = answer.data?.agents.nodes;
  const [selectedId, select] = useState<string>();
  const [params, setParams] = useSearchParams();
  if (answer.error) return <Failure error={answer.error} retry={answer.refresh} />;
  if (!agents) return <Loading lines={10} />;
  if (agents.length === 0) return <Empty title="There are no agents to draw.">Create one with the button above, then connect it with others.</Empty>;
  const selected = agents.find((agent) => agent.id === selectedId) ?? agents[0]!;
  const depth = params.get("depth") ?? (agents.length > readable ? String(defaultDepth) : "all");
  return (
    <>
      <div className={styles.split}>
        <div className="card">
          <header>
            <select
              aria-label="Shown agents"
              value={depth}
              onChange={(event) => setParams((old) => ({ ...Object.fromEntries(old), depth: event.target.value }), { replace: true })}
            >
              <option value="all">All agents</option>
              {[1, 2, 3].map((steps) => (
                <option key={steps} value={steps}>
                  {plural(steps, "step")} around {selected.name}
                </option>
              ))}
            </select>
            <span className="muted small">dashed: part of a cycle</span>
            {answer.data && answer.data.agents.totalCount > agents.length && (
              <span className="muted small">the newest {agents.length} of {plural(answer.data.agents.totalCount, "agent")}</span>
            )}
          </header>
          <Drawing agents={agents} depth={depth} selectedId={selected.id} select={select} />
        </div>
        <Details agent={selected} agents={agents} />
      </div>
      <details>
        <summary>Show as a list</summary>
        <ul className={styles.list}>
          {agents.map((agent) => (
            <li key={agent.id}>
              <Link href={`/agents/${agent.id}`}>{agent.name}</Link>
              {agent.subAgents.length > 0 && (
                <ul>
                  {agent.subAgents.map((sub) => (
                    <li key={sub.id}>
                      {sub.technicalName} → {agents.find((a) => a.id === sub.agent.id)?.name ?? "agent outside the drawing"}
                    </li>
                  ))}
                </ul>
              )}
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

interface Drawn {
  width: number;
  height: number;
  boxes: { agent: AgentNode; x: number; y: number }[];
  arrows: { id: string; text: string; from: string; to: string; path: string; isCycle: boolean; x: number; y: number }[];
}

function draw(agents: AgentNode[]): Drawn {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 34, ranksep: 34, edgesep: 20, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const agent of agents) graph.setNode(agent.id, { width, height });
  for (const agent of agents) {
    for (const sub of agent.subAgents) {
      if (!graph.hasNode(sub.agent.id)) continue;
      graph.setEdge(agent.id, sub.agent.id, { width: sub.technicalName.length * 6.6 + 8, height: 16, labelpos: "c" }, sub.id);
    }
  }
  layout(graph);
  const size = graph.graph() as { width: number; height: number };
  const names = new Map(agents.flatMap((agent) => agent.subAgents.map((sub) => [sub.id, sub.technicalName] as const)));
  return {
    ...size,
    boxes: agents.map((agent) => ({ agent, ...(graph.node(agent.id) as { x: number; y: number }) })),
    arrows: graph.edges().map((edge) => {
      const { points, x, y } = graph.edge(edge) as { points: { x: number; y: number }[]; x: number; y: number };
      return { id: edge.name ?? "", text: names.get(edge.name ?? "") ?? "", from: edge.v, to: edge.w, path: curve(points), isCycle: isCycle(agents, edge.v, edge.w), x, y };
    }),
  };
}

/** A smooth line through the midpoints of the segments. */
function curve(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${first.x} ${first.y}`;
  rest.forEach((point, i) => {
    const next = rest[i + 1];
    path += next ? `Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}` : `L${point.x} ${point.y}`;
  });
  return path;
}

interface DrawingProps {
  agents: AgentNode[];
  /** How many delegations around the selected agent are drawn, or "all". */
  depth: string;
  selectedId: string;
  select: (id: string) => void;
}

function Drawing({ agents, depth, selectedId, select }: DrawingProps) {
  const middle = depth === "all" ? undefined : selectedId;
  const drawn = useMemo(() => draw(middle ? around(agents, middle, Number(depth)) : agents), [agents, depth, middle]);
  const onKey = (id: string) => (event: KeyboardEvent) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      select(id);
    }
  };
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Graph of agents">
      <svg width={drawn.width} height={drawn.height} className={styles.drawing} role="group" aria-label={`${plural(drawn.boxes.length, "agent")} and their delegations`}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto-start-reverse">
            <path d="M0 0 8 4 0 8z" />
          </marker>
        </defs>
        {drawn.arrows.map((arrow) => (
          <g key={arrow.id} className={styles.arrow} data-near={arrow.from === selectedId || arrow.to === selectedId} data-cycle={arrow.isCycle}>
            <path d={arrow.path} markerEnd="url(#arrow)" />
            <text x={arrow.x} y={arrow.y + 4}>
              {arrow.text}
            </text>
          </g>
        ))}
        {drawn.boxes.map(({ agent, x, y }) => (
          <g
            key={agent.id}
            className={styles.box}
            transform={`translate(${x - width / 2} ${y - height / 2})`}
            role="button"
            tabIndex={0}
            aria-pressed={agent.id === selectedId}
            aria-label={`${agent.name}, ${agent.channel} ${agent.direction}`}
            onClick={() => select(agent.id)}
            onKeyDown={onKey(agent.id)}
          >
            <rect width={width} height={height} rx="8" />
            <text x="12" y="24" className={styles.name}>
              {agent.name.length > 24 ? `${agent.name.slice(0, 23)}…` : agent.name}
            </text>
            <text x="12" y="45" className={styles.facts}>
              {agent.channel} {agent.direction === "Inbound" ? "in" : "out"} · {plural(agent.tools.length, "tool")}
              {agent.knowledgeBaseChat ? " · ◇" : ""}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}

function Details({ agent, agents }: { agent: AgentNode; agents: AgentNode[] }) {
  const callers = agents.filter((other) => other.subAgents.some((sub) => sub.agent.id === agent.id));
  const name = (id: string) => agents.find((other) => other.id === id)?.name ?? id;
  return (
    <section className="card" aria-live="polite" aria-label="Selected agent">
      <header>
        <h2>{agent.name}</h2>
      </header>
      <div className="body stack">
        <div className="row">
          <Link className="button primary" href={`/agents/${agent.id}`}>
            Open
          </Link>
          <Link className="button" href={`/chats/new?agent=${agent.id}`}>
            New chat
          </Link>
        </div>
        <dl className="facts">
          <dt>Delegates to</dt>
          <dd>
            {agent.subAgents.map((sub) => (
              <div key={sub.id}>
                {name(sub.agent.id)} <span className="muted small">as “{sub.name}”</span>
              </div>
            ))}
            {agent.subAgents.length === 0 && "none"}
          </dd>
          <dt>Called by</dt>
          <dd>{callers.map((caller) => caller.name).join(", ") || "none"}</dd>
          <dt>Tools</dt>
          <dd>
            {agent.tools.map((tool) => (
              <div key={tool.id}>{tool.name}</div>
            ))}
            {agent.tools.length === 0 && "none"}
          </dd>
          <dt>◇ Knowledge</dt>
          <dd>
            {agent.knowledgeBaseChat ? (
              <Link href={`/knowledge/chats/${agent.knowledgeBaseChat.id}`}>{agent.knowledgeBaseChat.name}</Link>
            ) : (
              "none"
            )}
          </dd>
        </dl>
      </div>
    </section>
  );
}
