import { Link } from "wouter";
import { plural } from "../../ui/format";
import { Status } from "../../ui/Status";
import type { ChatOfPage } from "../Chat";

/** The settings of the chat, and the effect of each call that it can make. */
export function ChatFacts({ chat }: { chat: ChatOfPage }) {
  const own = chat.coverage.filter((call) => call.path.length === 0);
  const others = chat.coverage.filter((call) => call.path.length > 0);
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
      <section className="card" aria-labelledby="coverage-title">
        <header>
          <h2 id="coverage-title">What a call would do</h2>
        </header>
        <Coverage calls={own} />
        {others.length > 0 && (
          <details className="body">
            <summary>
              {others.length} more of the agents that it delegates to, {plural(others.filter((call) => effectOf(call) === "Real").length, "real call")}
            </summary>
            <Coverage calls={others} />
          </details>
        )}
        {chat.coverage.length === 0 && <p className="body muted">It can call nothing.</p>}
      </section>
    </div>
  );
}

type Covered = ChatOfPage["coverage"][number];

/** Retrievals and delegations are real, but reach nothing outside. */
function effectOf(call: Covered): string {
  if (call.effect !== "Real") return call.effect;
  return { Retrieval: "Reads", SubAgent: "Delegates" }[call.kind as string] ?? "Real";
}

function Coverage({ calls }: { calls: Covered[] }) {
  return (
    <table>
      <tbody>
        {calls.map((call) => (
          <tr key={`${call.kind} ${call.path.join("/")} ${call.technicalName}`}>
            <th scope="row">
              {call.path.length > 0 && <span className="muted small">{call.path.join(" › ")} › </span>}
              <code>{call.technicalName}</code>
            </th>
            <td>
              <Status of={effectOf(call)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
