import type { ReactNode } from "react";
import { Link } from "wouter";
import { timeLeft } from "../../logic/news";
import { Avatar } from "../../ui/Avatar";
import { Channel } from "../../ui/Channel";
import { count, plural, roughly } from "../../ui/format";
import { Meter } from "../../ui/Meter";
import { Time } from "../../ui/Time";
import styles from "../Home.module.css";
import type { HomeData } from "./query";

/** The executions of tests, chats and campaigns that are in progress. Renders nothing if there are none. */
export function Running({ data }: { data: HomeData }) {
  const executions = data.executions.nodes;
  const chats = data.replying.nodes;
  const campaigns = data.campaigns.nodes;
  if (executions.length + chats.length + campaigns.length === 0) return null;
  return (
    <section className={styles.section}>
      <header>
        <h2>Running now</h2>
        <span className="livedot" role="img" aria-label="Live" />
      </header>
      <ul className={`${styles.card} ${styles.runs}`}>
        {executions.map((execution) => (
          <Execution key={execution.id} execution={execution} />
        ))}
        {chats.map((chat) => (
          <Line key={chat.id} agent={chat.agent} to={`/chats/${chat.id}`} title={`Chat with ${chat.agent.name}`} details="is being answered" end={<Time at={chat.createdAt} />}>
            <Channel channel={chat.agent.channel} direction={chat.agent.direction} />
          </Line>
        ))}
        {campaigns.map(({ id, name, agent, counts }) => (
          <Line
            key={id}
            agent={agent}
            to={`/campaigns/${id}`}
            title={name}
            details={`${count(counts.processed + counts.error)} of ${count(counts.total)} contacts`}
            end={counts.calling > 0 ? `${count(counts.calling)} calling` : ""}
          >
            <Meter total={counts.total} parts={[["plain", counts.processed], ["failed", counts.error]]} />
          </Line>
        ))}
      </ul>
    </section>
  );
}

function Execution({ execution }: { execution: HomeData["executions"]["nodes"][number] }) {
  const { agent, counts, id } = execution;
  const tested = agent ?? { id, name: "several agents" };
  const { passed, failed, error, total } = counts;
  const done = passed + failed + error;
  const left = timeLeft(done, total, execution.startedAt, Date.now());
  const red = [failed > 0 && `${count(failed)} failed`, error > 0 && plural(error, "error")].filter(Boolean);
  return (
    <Line
      agent={tested}
      to={agent ? `/tests?agent=${agent.id}&execution=${id}` : "/tests"}
      title={`Tests of ${tested.name}`}
      details={[`${count(done)} of ${count(total)}`, ...red].join(" · ")}
      end={left === undefined ? execution.status.toLowerCase() : `${roughly(left)} left`}
    >
      <Meter total={total} parts={[["passed", passed], ["failed", failed], ["error", error]]} />
    </Line>
  );
}

function Line({ agent, to, title, details, end, children }: {
  agent: { id: string; name: string };
  to: string;
  title: string;
  details: string;
  end: ReactNode;
  children: ReactNode;
}) {
  return (
    <li>
      <Avatar agent={agent} />
      <span className={styles.what}>
        <Link href={to}>{title}</Link>
        <small className="cut">{details}</small>
      </span>
      {children}
      <span className="number muted small">{end}</span>
    </li>
  );
}
