import { Link } from "wouter";
import { Avatar } from "../../ui/Avatar";
import { Cells } from "../../ui/Cells";
import { Channel } from "../../ui/Channel";
import { count } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import styles from "../AgentGraph.module.css";
import type { AgentNode } from "./query";

interface Props {
  agent: AgentNode;
  agents: readonly AgentNode[];
  uses: ReadonlyMap<string, number>;
  onClose: () => void;
}

/** The selected agent: its tests, whom it delegates to, who calls it, and its tools. */
export function Panel({ agent, agents, uses, onClose }: Props) {
  const callers = agents.flatMap((other) => other.subAgents.filter((sub) => sub.agent.id === agent.id).map((sub) => ({ id: sub.id, agent: other })));
  const subs = agent.subAgents.map((sub) => ({ id: sub.id, agent: agents.find((other) => other.id === sub.agent.id) ?? { id: sub.agent.id, name: sub.name } }));
  const [all, passed, failed, error] = [agent.all, agent.passed, agent.failed, agent.error].map(({ totalCount }) => totalCount) as [number, number, number, number];
  return (
    <aside className={styles.panel} aria-live="polite" aria-label="Selected agent">
      <section className={styles.who}>
        <Avatar agent={agent} size="large" />
        <div>
          <h2>{agent.name}</h2>
          <span className="row muted">
            <Channel channel={agent.channel} direction={agent.direction} /> prompt v{agent.promptVersion}
          </span>
        </div>
        <button type="button" className="quiet only push" aria-label="Close details" onClick={onClose}>
          <Icon name="close" />
        </button>
      </section>
      <section className={styles.links}>
        <Link className="button" href={`/agents/${agent.id}`}>
          Open
        </Link>
        <Link className="button" href={`/chats/new?agent=${agent.id}`}>
          <Icon name="chat" />
          Chat
        </Link>
      </section>
      {all > 0 && (
        <section className={styles.more}>
          <header>
            <h2>Tests</h2>
            <Link href={`/agents/${agent.id}/tests`}>
              {count(passed)} of {count(all)} pass
            </Link>
          </header>
          <Cells passed={passed} failed={failed} error={error} other={all - passed - failed - error} />
        </section>
      )}
      <Others title="Delegates to" others={subs} uses={uses} />
      <Others title="Called by" others={callers} uses={uses} />
      <section className={styles.more}>
        <header>
          <h2>Tools</h2>
          <span>{agent.tools.length}</span>
        </header>
        <ul>
          {agent.tools.map((tool) => (
            <li key={tool.id}>
              <code className="muted">{tool.technicalName}</code>
            </li>
          ))}
        </ul>
        {agent.knowledgeBaseChat && (
          <Link className="quiet row" style={{ flexWrap: "nowrap" }} href={`/knowledge/chats/${agent.knowledgeBaseChat.id}`}>
            <Icon name="knowledge" />
            {agent.knowledgeBaseChat.name}
          </Link>
        )}
      </section>
    </aside>
  );
}

function Others({ title, others, uses }: { title: string; others: { id: string; agent: { id: string; name: string } }[]; uses: ReadonlyMap<string, number> }) {
  if (others.length === 0) return null;
  return (
    <section className={styles.more}>
      <header>
        <h2>{title}</h2>
      </header>
      <ul>
        {others.map(({ id, agent }) => (
          <li key={id}>
            <Avatar agent={agent} size="tiny" />
            <Link className="quiet cut" href={`/agents/${agent.id}`}>
              {agent.name}
            </Link>
            {(uses.get(id) ?? 0) > 0 && <span className="muted push">{count(uses.get(id) ?? 0)}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
