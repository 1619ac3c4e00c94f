import { useEffect, useMemo, useRef, useState } from "react";
import { Link, useSearchParams } from "wouter";
import { useLive } from "../api/live";
import { usePage } from "../api/page";
import { around } from "../logic/delegation";
import { folded } from "../logic/names";
import { delegations, liveChat, type MadeCall } from "../logic/paths";
import { may } from "../ui/Act";
import { Find } from "../ui/Find";
import { plural } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Pick } from "../ui/Pick";
import { Empty, Failure, Loading } from "../ui/states";
import { useRepeat } from "../ui/useRepeat";
import styles from "./AgentGraph.module.css";
import { Drawing, type Lit } from "./graph/Drawing";
import { inColumns, layered } from "./graph/layout";
import { Panel } from "./graph/Panel";
import { AgentGraphQuery, StartedCalls, type AgentNode, type GraphChat } from "./graph/query";
import { saveDrawing } from "./graph/saveDrawing";
import { useView } from "./graph/useView";

/** The maximum number of agents that are drawn by default. */
const readable = 60;
/** How many delegations around the selected agent are drawn if there are more agents. */
const defaultDepth = 2;
/** How often the graph is read again, in milliseconds, so that it shows chats that run. */
const pace = 4_000;

/** The agents and their delegations, as a drawing. */
export default function AgentGraph() {
  const answer = usePage(AgentGraphQuery, { first: 100, seesCalls: may("contacts") }, { onFocus: true });
  useRepeat(() => document.visibilityState === "visible" && answer.refresh(), pace, true);
  const agents = answer.data?.agents.nodes;
  if (answer.error && !agents) return <Failure error={answer.error} retry={answer.refresh} />;
  if (!agents) return <Loading lines={10} />;
  if (agents.length === 0) return <Empty icon="agents" title="No agents to draw">Create one with the button above, then connect it with others.</Empty>;
  return <Board agents={agents} total={answer.data?.agents.totalCount ?? 0} chats={answer.data?.simulationChats?.nodes ?? []} />;
}

function Board({ agents, total, chats }: { agents: readonly AgentNode[]; total: number; chats: readonly GraphChat[] }) {
  const [selectedId, select] = useState<string>();
  const [isOpen, setOpen] = useState(true);
  const [params, setParams] = useSearchParams();
  const selected = agents.find((agent) => agent.id === selectedId) ?? agents[0]!;
  const depth = params.get("depth") ?? (agents.length > readable ? String(defaultDepth) : "all");
  const middle = depth === "all" ? undefined : selected.id;
  const width = useWindowWidth();
  const narrowWidth = width <= 860 ? width : 0;
  // The drawing changes with the agents and their delegations only, and not with the numbers of their tests.
  const key = agents.map((agent) => `${agent.id} ${agent.subAgents.map((sub) => sub.id).join()}`).join(";");
  const drawn = useMemo(() => {
    const shown = middle ? around(agents, middle, Number(depth)) : agents;
    return narrowWidth ? inColumns(shown, narrowWidth) : layered(shown);
  }, [key, depth, middle, narrowWidth]);
  const now = new Map(agents.map((agent) => [agent.id, agent]));
  const fresh = { ...drawn, boxes: drawn.boxes.map((box) => ({ ...box, agent: now.get(box.agent.id) ?? box.agent })) };
  const uses = useMemo(() => usesOf(agents, chats), [agents, chats]);
  const running = liveChat(chats, Date.now());
  const started = useStartedCalls(running?.id);
  const lit = useMemo(() => litOf(agents, running, started), [agents, running, started]);
  const { board, bar, view, zoom, fit, center, drag } = useView(drawn);
  const svg = useRef<SVGSVGElement>(null);
  const choose = (id: string) => {
    select(id);
    setOpen(true);
  };
  const find = (text: string) => {
    const sought = folded(text);
    const isFound = ({ name }: AgentNode) => folded(name).includes(sought);
    const drawnBox = drawn.boxes.find(({ agent }) => isFound(agent));
    // An agent that is not drawn becomes the middle of the next drawing.
    const found = drawnBox?.agent ?? agents.find(isFound);
    if (!sought || !found) return;
    choose(found.id);
    if (drawnBox) center(drawnBox.x, drawnBox.y);
  };
  return (
    <div className={styles.canvas} data-open={isOpen}>
      <div ref={board} className={styles.board} {...drag}>
        <Drawing svg={svg} drawn={fresh} view={view} selectedId={selected.id} uses={uses} lit={lit} select={choose} />
        <div ref={bar} className={styles.top}>
          {running && (
            <span className={styles.live}>
              <span className="livedot" />
              <b>Live chat</b> {plural(lit.hops.size, "agent")}
              <Link className="button" href={`/chats/${running.id}`}>
                Watch
              </Link>
            </span>
          )}
          <Pick
            label="Shown agents"
            shown="Show"
            options={[["all", "All agents"], ...[1, 2, 3].map((steps) => [String(steps), `${plural(steps, "step")} around ${selected.name}`] as const)]}
            value={depth}
            set={(value) => setParams((old) => ({ ...Object.fromEntries(old), depth: value }), { replace: true })}
          />
          {total > agents.length && (
            <span className="muted small">
              the newest {agents.length} of {plural(total, "agent")}
            </span>
          )}
          <span className="push" />
          <Find label="Find an agent" set={find} />
        </div>
        <div className={styles.dock}>
          <button type="button" className="quiet only" aria-label="Zoom out" onClick={() => zoom(0.8)}>
            <Icon name="minus" />
          </button>
          <span className={styles.scale}>{Math.round(view.scale * 100)} %</span>
          <button type="button" className="quiet only" aria-label="Zoom in" onClick={() => zoom(1.25)}>
            <Icon name="plus" />
          </button>
          <button type="button" className="quiet only" aria-label="Fit" title="Fit" onClick={fit}>
            <Icon name="fit" />
          </button>
          <button type="button" className="quiet only" aria-label="Save as SVG" title="Save as SVG" onClick={() => svg.current && void saveDrawing(svg.current, "agents.svg")}>
            <Icon name="download" />
          </button>
        </div>
        <Legend />
      </div>
      {isOpen && <Panel agent={selected} agents={agents} uses={uses} onClose={() => setOpen(false)} />}
    </div>
  );
}

function useWindowWidth(): number {
  const [width, setWidth] = useState(innerWidth);
  useEffect(() => {
    const onResize = () => setWidth(innerWidth);
    addEventListener("resize", onResize);
    return () => removeEventListener("resize", onResize);
  }, []);
  return width;
}

function Legend() {
  return (
    <div className={`${styles.legend} wide`}>
      <span data-s="passed">Passing</span>
      <span data-s="failed">Failing</span>
      <span data-s="error">Error</span>
      <span>Width: delegations of the last 50 chats</span>
    </div>
  );
}

/** How often each connection was used in the chats. */
function usesOf(agents: readonly AgentNode[], chats: readonly GraphChat[]): ReadonlyMap<string, number> {
  const uses = new Map<string, number>();
  for (const chat of chats) {
    for (const { connection } of delegations(agents, chat.agent.id, chat.toolCalls)) uses.set(connection, (uses.get(connection) ?? 0) + 1);
  }
  return uses;
}

/** The calls that started since the graph began to follow the chat. The list of chats has them only after the turn. */
function useStartedCalls(chatId: string | undefined): readonly MadeCall[] {
  const [started, setStarted] = useState<{ chatId: string | undefined; calls: readonly MadeCall[] }>({ chatId, calls: [] });
  useLive(
    StartedCalls,
    { id: chatId ?? "" },
    ({ simulationChatEvents: event }) => {
      if (event.__typename !== "ToolCallStarted") return;
      setStarted((old) => ({ chatId, calls: [...(old.chatId === chatId ? old.calls : []), event] }));
    },
    !chatId,
  );
  return started.chatId === chatId ? started.calls : none;
}

const none: readonly MadeCall[] = [];

/** The path of the running chat, if there is one. */
function litOf(agents: readonly AgentNode[], chat: GraphChat | undefined, started: readonly MadeCall[]): Lit {
  const hops = new Map<string, number>();
  const connections = new Set<string>();
  if (chat) {
    hops.set(chat.agent.id, 1);
    for (const { connection, to } of delegations(agents, chat.agent.id, [...chat.toolCalls, ...started])) {
      connections.add(connection);
      if (!hops.has(to)) hops.set(to, hops.size + 1);
    }
  }
  return { hops, connections };
}
