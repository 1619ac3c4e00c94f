import { memo, type KeyboardEvent, type RefObject } from "react";
import { hueOf, initials } from "../../logic/faces";
import { placed } from "../../logic/labels";
import { widthOf } from "../../logic/paths";
import { count, plural, testsText } from "../../ui/format";
import styles from "../AgentGraph.module.css";
import type { Drawn } from "./layout";
import type { AgentNode } from "./query";
import type { View } from "./useView";

export interface Lit {
  /** The numbers of the agents on the path, from 1. */
  hops: ReadonlyMap<string, number>;
  connections: ReadonlySet<string>;
}

/** The agents and their delegations. Only the lines of the selected agent show their names. */
export function Drawing({ svg, drawn, view, selectedId, uses, lit, select }: {
  svg: RefObject<SVGSVGElement | null>;
  drawn: Drawn;
  view: View;
  selectedId: string;
  uses: ReadonlyMap<string, number>;
  lit: Lit;
  select: (id: string) => void;
}) {
  const most = Math.max(0, ...uses.values());
  const isNear = (arrow: Drawn["arrows"][number]) => arrow.from === selectedId || arrow.to === selectedId;
  const texts = drawn.arrows.map((arrow) => (isNear(arrow) && drawn.box.width > 180 ? arrow.text : uses.has(arrow.id) ? count(uses.get(arrow.id) ?? 0) : ""));
  const labels = placed(drawn.arrows.map(({ label }, i) => ({ ...label, text: texts[i] ?? "" })), drawn.boxes, drawn.box);
  return (
    <svg ref={svg} className={styles.drawing} role="group" aria-label={`${plural(drawn.boxes.length, "agent")} and their delegations`}>
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto-start-reverse">
          <path d="M0 0 8 4 0 8z" />
        </marker>
      </defs>
      <g transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>
        {drawn.arrows.map((arrow) => {
          const { id, path, text } = arrow;
          const used = uses.get(id) ?? 0;
          const isLit = lit.connections.has(id);
          return (
            <g key={id} className={styles.arrow} data-lit={isLit} data-near={isNear(arrow)}>
              <path d={path} strokeWidth={isLit ? 5 : widthOf(used, most)} markerEnd="url(#arrow)">
                <title>{used > 0 ? `${text}, ${plural(used, "use")}` : text}</title>
              </path>
              {isLit && <path d={path} className={styles.flow} />}
            </g>
          );
        })}
        {drawn.arrows.map(({ id }, i) => {
          const label = labels[i];
          return label?.text ? (
            <g key={id} className={styles.use} data-lit={lit.connections.has(id)}>
              <rect x={label.x - label.width / 2} y={label.y - 10} width={label.width} height={20} rx={10} />
              <text x={label.x} y={label.y + 4}>
                {label.text}
              </text>
            </g>
          ) : null;
        })}
        {drawn.boxes.map(({ agent, x, y }) => (
          <Box key={agent.id} agent={agent} x={x} y={y} size={drawn.box} isSelected={agent.id === selectedId} hop={lit.hops.get(agent.id)} select={select} />
        ))}
      </g>
    </svg>
  );
}

const Box = memo(function Box({ agent, x, y, size: { width, height }, isSelected, hop, select }: {
  agent: AgentNode;
  x: number;
  y: number;
  size: Drawn["box"];
  isSelected: boolean;
  hop: number | undefined;
  select: (id: string) => void;
}) {
  const [all, passed, failed, error] = [agent.all, agent.passed, agent.failed, agent.error].map(({ totalCount }) => totalCount) as [number, number, number, number];
  const state = failed > 0 ? "failed" : error > 0 ? "error" : passed > 0 ? "passed" : "queued";
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    select(agent.id);
  };
  const most = Math.floor((width - 60) / 7.2);
  const bar = width - 24;
  return (
    <g
      className={styles.box}
      transform={`translate(${x - width / 2} ${y - height / 2})`}
      role="button"
      tabIndex={0}
      aria-pressed={isSelected}
      aria-label={`${agent.name}, ${agent.channel} ${agent.direction}, ${testsText(passed, failed, error, all)}${hop ? `, step ${hop} of the running chat` : ""}`}
      data-s={state}
      data-lit={hop !== undefined}
      onClick={() => select(agent.id)}
      onKeyDown={onKey}
    >
      <rect className={styles.card} width={width} height={height} rx="10" />
      <g data-hue={hueOf(agent.id)}>
        <rect className={styles.face} x="12" y="12" width="28" height="28" rx="8" />
        <text className={styles.initials} x="26" y="30">
          {initials(agent.name)}
        </text>
      </g>
      <text x="50" y="25" className={styles.name}>
        {agent.name.length > most ? `${agent.name.slice(0, most - 1)}…` : agent.name}
      </text>
      <text x="50" y="40" className={styles.facts}>
        {agent.channel}
        {width > 180 && (agent.direction === "Inbound" ? " in" : " out")}
      </text>
      <text x={width - 12} y="40" className={styles.tally}>
        {passed + failed + error > 0 ? `${count(passed)}/${count(all)}` : "–"}
      </text>
      <rect className={styles.track} x="12" y={height - 15} width={bar} height="4" rx="2" />
      {all > 0 && (
        <>
          <rect className={styles.pass} x="12" y={height - 15} width={(bar * passed) / all} height="4" rx="2" />
          <rect className={styles.fail} x={12 + (bar * passed) / all} y={height - 15} width={(bar * failed) / all} height="4" rx="2" />
          <rect className={styles.err} x={12 + (bar * (passed + failed)) / all} y={height - 15} width={(bar * error) / all} height="4" rx="2" />
        </>
      )}
      {hop !== undefined && (
        <g className={styles.hop}>
          <circle cx={width - 3} cy="3" r="10" />
          <text x={width - 3} y="7">
            {hop}
          </text>
        </g>
      )}
    </g>
  );
});
