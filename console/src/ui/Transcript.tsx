import type { ReactNode } from "react";
import { Avatar } from "./Avatar";
import { duration } from "./format";
import { Icon } from "./Icon";
import type { IconName } from "./icons";
import { Status } from "./Status";
import styles from "./Transcript.module.css";

/** One message: of the agent beside its avatar, or of the contact as a bubble at the right. */
export function Message({ role, number, name, agent, aside, idPrefix = "message", children, extra }: {
  role: "assistant" | "user";
  number?: number;
  /** The author. For the contact, only screen readers get it. */
  name: string;
  agent?: { id: string; name: string };
  /** The time or the number of the message. */
  aside?: ReactNode;
  /** The prefix of the element's id, for pages with two transcripts. */
  idPrefix?: string;
  children: ReactNode;
  extra?: ReactNode;
}) {
  return (
    <article className={styles.message} data-role={role} data-faced={Boolean(agent)} id={number === undefined ? undefined : `${idPrefix}-${number}`}>
      {agent && role === "assistant" && <Avatar agent={agent} size="big" />}
      <div>
        <header>
          <span dir="auto" className={role === "user" ? "unseen" : undefined}>
            {name}
          </span>
          {aside !== undefined && <span className={styles.aside}>{aside}</span>}
        </header>
        <div dir="auto" className={styles.text}>
          {children}
        </div>
        {extra}
      </div>
    </article>
  );
}

interface ShownCall {
  kind: string;
  technicalName: string;
  arguments?: Record<string, unknown> | null;
  result?: string | null;
  mocked?: boolean;
  isReal?: boolean;
  mockRule?: number | null;
  error?: string | null;
  durationMs?: number;
  isTurnKept?: boolean;
  approval?: string | null;
  isRunning?: boolean;
  delegationId?: string | null;
}

const kinds: Record<string, { icon: IconName; word: string }> = {
  Tool: { icon: "tool", word: "tool" },
  SubAgent: { icon: "agents", word: "agent" },
  CallTransfer: { icon: "phone", word: "transfer" },
  Retrieval: { icon: "knowledge", word: "knowledge base" },
};

/** One call, which expands to its arguments and result. */
export function Call({ call, note }: { call: ShownCall; note?: ReactNode }) {
  const kind = kinds[call.kind] ?? { icon: "tool", word: call.kind };
  return (
    <details className={styles.call} data-delegated={Boolean(call.delegationId)}>
      <summary>
        <Icon name="right" className={styles.turn} />
        <Icon name={kind.icon} />
        <span className="unseen">{kind.word}</span>
        <code>{call.technicalName}</code>
        {note}
        <span className="push" />
        {call.error && <Status of={call.approval === "Denied" ? "Denied" : "Failed"} />}
        {call.isTurnKept === false && <span className="fault small">its turn was not saved</span>}
        <Effect call={call} />
        {call.durationMs !== undefined && !call.isRunning && <span className="muted small nowrap">{duration(call.durationMs)}</span>}
      </summary>
      <div className={styles.io}>
        <div>
          <h3>Arguments</h3>
          <Values of={call.arguments ?? {}} />
        </div>
        <div>
          <h3>{call.error ? "Error" : "Result"}</h3>
          {call.error ? <pre>{call.error}</pre> : <Values of={resultOf(call)} />}
        </div>
      </div>
    </details>
  );
}

function Effect({ call }: { call: ShownCall }) {
  if (call.isRunning) return <Status of="Running" />;
  if (call.kind === "Retrieval") return null;
  if (!call.mocked && call.kind === "SubAgent") return call.error ? null : <Status of="Delegates" />;
  if (!call.mocked) return call.isReal ? <Status of="Real" /> : null;
  return (
    <span title={call.mockRule === null || call.mockRule === undefined ? undefined : `By rule ${call.mockRule + 1} of the mock`}>
      <Status of="Mocked" />
    </span>
  );
}

/** How many values show as a list. */
const listed = 12;

/** Values by name, if they are few and plain, and JSON otherwise. */
function Values({ of }: { of: unknown }) {
  if (typeof of === "string") return <pre>{of}</pre>;
  const entries = Object.entries(of as Record<string, unknown>);
  if (entries.length === 0) return <p className="muted">none</p>;
  if (Array.isArray(of) || entries.length > listed || entries.some(([, value]) => typeof value === "object" && value !== null)) {
    return <pre>{JSON.stringify(of, null, 1).slice(0, 8_000)}</pre>;
  }
  return (
    <dl>
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{String(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Results are often JSON, which is easier to read as values. */
function resultOf(call: ShownCall): unknown {
  if (!call.result) return call.isRunning ? "not yet" : "nothing";
  try {
    const value: unknown = JSON.parse(call.result);
    return typeof value === "object" && value !== null ? value : String(value);
  } catch {
    return call.result.slice(0, 8_000);
  }
}
