import type { ReactNode } from "react";
import { duration } from "./format";
import styles from "./Transcript.module.css";

/** One message: its author, number and text. */
export function Message({ role, number, name, idPrefix = "message", children, extra }: {
  role: "assistant" | "user";
  number?: number;
  name: string;
  /** The prefix of the element's id, for pages with two transcripts. */
  idPrefix?: string;
  children: ReactNode;
  extra?: ReactNode;
}) {
  return (
    <article className={styles.message} data-role={role} id={number === undefined ? undefined : `${idPrefix}-${number}`}>
      <header className="small muted">
        {name} {number !== undefined && <span className={styles.number}>{number}</span>}
      </header>
      <div className={styles.text}>{children}</div>
      {extra}
    </article>
  );
}

interface ShownCall {
  kind: string;
  technicalName: string;
  arguments?: Record<string, unknown> | null;
  result?: string | null;
  mocked?: boolean;
  mockRule?: number | null;
  error?: string | null;
  durationMs?: number;
  isTurnKept?: boolean;
  isRunning?: boolean;
  delegationId?: string | null;
}

const kinds: Record<string, { sign: string; word: string }> = {
  Tool: { sign: "⚙", word: "tool" },
  SubAgent: { sign: "⤷", word: "agent" },
  CallTransfer: { sign: "☎", word: "transfer" },
  Retrieval: { sign: "⌕", word: "knowledge base" },
};

/** One call, which expands to its arguments and result. */
export function Call({ call, note }: { call: ShownCall; note?: ReactNode }) {
  const kind = kinds[call.kind] ?? { sign: "•", word: call.kind };
  return (
    <details className={styles.call} data-delegated={Boolean(call.delegationId)}>
      <summary>
        <span aria-hidden="true">{kind.sign}</span>
        <span className="unseen">{kind.word}</span>
        <code>{call.technicalName}</code>
        <span className={styles.effect} data-real={!call.mocked && !call.isRunning}>
          {call.isRunning ? "…" : call.mocked ? (call.mockRule === null || call.mockRule === undefined ? "mocked" : `mocked, rule ${call.mockRule + 1}`) : "real"}
        </span>
        {call.durationMs !== undefined && !call.isRunning && <span className="muted">{duration(call.durationMs)}</span>}
        {call.error && <span className={styles.failed}>failed</span>}
        {call.isTurnKept === false && <span className={styles.failed}>called, but its turn was not saved</span>}
        {note}
      </summary>
      <dl className="facts small">
        <dt>Arguments</dt>
        <dd>
          <pre>{JSON.stringify(call.arguments ?? {}, null, 1)}</pre>
        </dd>
        <dt>{call.error ? "Error" : "Result"}</dt>
        <dd>
          <pre>{call.error ?? shownResult(call)}</pre>
        </dd>
      </dl>
    </details>
  );
}

/** Results are often JSON, which is easier to read with line breaks. */
function shownResult(call: ShownCall): string {
  if (!call.result) return call.isRunning ? "not yet" : "nothing";
  try {
    return JSON.stringify(JSON.parse(call.result), null, 1).slice(0, 8_000);
  } catch {
    return call.result.slice(0, 8_000);
  }
}
