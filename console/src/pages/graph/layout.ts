import { Graph, layout } from "dagre";
import type { AgentNode } from "./query";

export interface Point {
  x: number;
  y: number;
}

export interface Drawn {
  width: number;
  height: number;
  /** The agents with the middles of their boxes. */
  boxes: ({ agent: AgentNode } & Point)[];
  arrows: { id: string; text: string; from: string; to: string; path: string; label: Point }[];
  box: { width: number; height: number };
}

/** Places the agents in layers, each below those that delegate to it. */
export function layered(agents: readonly AgentNode[]): Drawn {
  const box = { width: 196, height: 66 };
  const graph = new Graph({ multigraph: true });
  // Reversing few lines of a cycle makes few layers, so that the drawing is wide rather than high.
  graph.setGraph({ rankdir: "TB", acyclicer: "greedy", nodesep: 48, ranksep: 36, edgesep: 30, marginx: 48, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  const oldestFirst = agents.toReversed();
  for (const agent of oldestFirst) graph.setNode(agent.id, { ...box });
  for (const agent of oldestFirst) {
    for (const sub of agent.subAgents) if (graph.hasNode(sub.agent.id)) graph.setEdge(agent.id, sub.agent.id, { width: 10, height: 10, labelpos: "c" }, sub.id);
  }
  layout(graph);
  const names = namesOf(agents);
  return {
    ...(graph.graph() as { width: number; height: number }),
    box,
    boxes: agents.map((agent) => ({ agent, ...(graph.node(agent.id) as Point) })),
    arrows: graph.edges().map((edge) => {
      const { points } = graph.edge(edge) as { points: Point[] };
      const id = edge.name ?? "";
      return { id, text: names.get(id) ?? "", from: edge.v, to: edge.w, path: curve(points), label: points[Math.floor(points.length / 2)] ?? { x: 0, y: 0 } };
    }),
  };
}

/** Places the agents in two columns, for narrow windows, with the lines between and beside them. */
export function inColumns(agents: readonly AgentNode[], width: number): Drawn {
  const gap = 38;
  const margin = 20;
  const box = { width: (width - 2 * margin - gap) / 2, height: 62 };
  const place = new Map(agents.map((agent, i) => [agent.id, { x: margin + box.width / 2 + (i % 2) * (box.width + gap), y: 44 + Math.floor(i / 2) * 116 }]));
  const names = namesOf(agents);
  const arrows = agents.flatMap((agent) =>
    agent.subAgents.flatMap((sub, i) => {
      const [from, to] = [place.get(agent.id), place.get(sub.agent.id)];
      return from && to ? [{ id: sub.id, text: names.get(sub.id) ?? "", from: agent.id, to: sub.agent.id, ...between(from, to, box, width, i) }] : [];
    }),
  );
  return { width, height: 44 + Math.ceil(agents.length / 2) * 116, box, boxes: agents.map((agent) => ({ agent, ...(place.get(agent.id) ?? { x: 0, y: 0 }) })), arrows };
}

/** A line between two boxes: straight to a neighbor, else around the outside or through the gap in the middle. */
function between(from: Point, to: Point, box: { width: number; height: number }, width: number, shift: number): { path: string; label: Point } {
  const nudge = (shift % 3) * 8 - 8;
  if (from.x === to.x) {
    const down = to.y > from.y ? 1 : -1;
    if (Math.abs(to.y - from.y) < 120) {
      const x = from.x + down * 14;
      return { path: `M${x} ${from.y + (down * box.height) / 2}L${x} ${to.y - (down * box.height) / 2}`, label: { x, y: (from.y + to.y) / 2 } };
    }
    const isLeft = from.x < width / 2;
    const edge = isLeft ? from.x - box.width / 2 : from.x + box.width / 2;
    const out = isLeft ? 4 : width - 4;
    return { path: `M${edge} ${from.y}C${out} ${from.y} ${out} ${to.y} ${edge} ${to.y + nudge}`, label: { x: out, y: (from.y + to.y) / 2 } };
  }
  const side = to.x > from.x ? 1 : -1;
  const [start, end] = [from.x + (side * box.width) / 2, to.x - (side * box.width) / 2];
  const middle = (start + end) / 2;
  return { path: `M${start} ${from.y + nudge}C${middle} ${from.y} ${middle} ${to.y} ${end} ${to.y + nudge}`, label: { x: middle, y: (from.y + to.y) / 2 } };
}

function namesOf(agents: readonly AgentNode[]): Map<string, string> {
  return new Map(agents.flatMap((agent) => agent.subAgents.map((sub) => [sub.id, sub.name] as const)));
}

/** A smooth line through the midpoints of the segments. */
function curve(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${first.x} ${first.y}`;
  rest.forEach((point, i) => {
    const next = rest[i + 1];
    path += next ? `Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}` : `L${point.x} ${point.y}`;
  });
  return path;
}
