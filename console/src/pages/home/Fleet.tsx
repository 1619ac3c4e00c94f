import { Link } from "wouter";
import { Avatar } from "../../ui/Avatar";
import { Cells } from "../../ui/Cells";
import { count, plural } from "../../ui/format";
import styles from "../Home.module.css";
import type { AgentOfHome } from "./query";

/** Agents beyond this number are behind a link. */
const shown = 12;

/** The tests of each agent, the agents with the most red ones first. `total` is the number of all tests. */
export function Fleet({ agents, total }: { agents: readonly AgentOfHome[]; total: number }) {
  const red = (agent: AgentOfHome) => agent.failed.totalCount + agent.error.totalCount;
  const rank = (agent: AgentOfHome) => red(agent) * 1_000_000 + agent.passed.totalCount;
  const each = new Map(agents.map((agent) => [agent.id, agent]));
  const listed = [...each.values()].filter((agent) => agent.all.totalCount > 0).toSorted((a, b) => rank(b) - rank(a)).slice(0, shown);
  const rest = listed.reduce((left, agent) => left - agent.all.totalCount, total);
  if (total === 0) return null;
  return (
    <section className={styles.section}>
      <header>
        <h2>Tests by agent</h2>
        <Link href="/tests">All tests</Link>
      </header>
      <div className={styles.fleet}>
        {listed.map((agent) => {
          const [all, passed, failed, error] = [agent.all, agent.passed, agent.failed, agent.error].map(({ totalCount }) => totalCount) as [number, number, number, number];
          return (
            <Link key={agent.id} href={`/tests?agent=${agent.id}`}>
              <Avatar agent={agent} />
              <bdi>{agent.name}</bdi>
              <Cells passed={passed} failed={failed} error={error} other={all - passed - failed - error} />
              <span className="number muted small">{passed + failed + error > 0 ? `${count(passed)}/${count(all)}` : "–"}</span>
            </Link>
          );
        })}
      </div>
      {rest > 0 && <p className="muted small">{plural(rest, "test")} of other agents</p>}
    </section>
  );
}
