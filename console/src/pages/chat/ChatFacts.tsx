import { Link } from "wouter";
import { Avatar } from "../../ui/Avatar";
import { Extracted } from "../../ui/Extracted";
import { plural } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { Instructions } from "../../ui/Instructions";
import styles from "./ChatFacts.module.css";
import { Coverage } from "./Coverage";
import type { ChatOfPage } from "./query";

/** The values of the chat, its tools and sub-agents, and the instructions of the model. */
export function ChatFacts({ chat }: { chat: ChatOfPage }) {
  const bag = Object.entries(chat.dataBag);
  const calls = new Map<string, number>();
  for (const { technicalName } of chat.toolCalls) calls.set(technicalName, (calls.get(technicalName) ?? 0) + 1);
  return (
    <aside className={styles.panel} aria-label="Details of the chat">
      <section>
        <header>
          <h2>Data bag</h2>
        </header>
        <dl className={styles.values}>
          {bag.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
            </div>
          ))}
        </dl>
        {bag.length === 0 && <p className="muted">No values.</p>}
        {chat.warnings.length > 0 && (
          <details className={styles.warnings}>
            <summary>{plural(chat.warnings.length, "warning")}</summary>
            {chat.warnings.map((warning) => (
              <p key={warning}>{warning}</p>
            ))}
          </details>
        )}
      </section>
      <Extracted values={chat.extracted as Record<string, unknown> | null} error={chat.extractionError} />
      <Coverage calls={chat.coverage} counts={calls} />
      {chat.agent.subAgents.length > 0 && (
        <section>
          <header>
            <h2>Sub-agents</h2>
          </header>
          <ul className={styles.agents}>
            {chat.agent.subAgents.map(({ id, agent }) => (
              <li key={id}>
                <Avatar agent={agent} size="tiny" />
                <Link className="quiet" href={`/agents/${agent.id}`}>
                  {agent.name}
                </Link>
              </li>
            ))}
          </ul>
        </section>
      )}
      <section className={styles.links}>
        <Link className="quiet" href={`/agents/${chat.agent.id}`}>
          <Icon name="doc" />
          Prompt v{chat.agent.promptVersion}
        </Link>
        <Instructions id={chat.id} title="Model input" />
      </section>
    </aside>
  );
}
