import { Link } from "wouter";
import { Extracted } from "../../ui/Extracted";
import { Instructions } from "../../ui/Instructions";
import type { ChatOfPage } from "./query";
import { Coverage } from "./Coverage";

/** The settings of the chat, and the effect of each call that it can make. */
export function ChatFacts({ chat }: { chat: ChatOfPage }) {
  const bag = Object.entries(chat.dataBag);
  return (
    <div className="stack">
      {chat.warnings.length > 0 && (
        <div className="note warn stack tight">
          {chat.warnings.map((warning) => (
            <p key={warning}>{warning}</p>
          ))}
        </div>
      )}
      <section className="card" aria-labelledby="bag-title">
        <header>
          <h2 id="bag-title">Data bag</h2>
          <Link className="push" href={`/agents/${chat.agent.id}`}>
            Prompt v{chat.agent.promptVersion}
          </Link>
        </header>
        <dl className="body facts">
          {bag.map(([name, value]) => (
            <div key={name} style={{ display: "contents" }}>
              <dt>{name}</dt>
              <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
            </div>
          ))}
          {bag.length === 0 && <dd className="muted">empty</dd>}
        </dl>
      </section>
      <Extracted values={chat.extracted as Record<string, unknown> | null} error={chat.extractionError} />
      <Coverage calls={chat.coverage} />
      <Instructions id={chat.id} title="Instructions for the next reply" />
    </div>
  );
}
