import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import type { ChatMessage, ChatState, Citation, LiveCall } from "../../logic/chat";
import { Call, Message } from "../../ui/Transcript";
import type { ChatOfPage } from "./query";
import { RightAnswer } from "../knowledge/RightAnswer";
import type { Pending } from "./Compose";
import styles from "./Conversation.module.css";

/** The messages and calls and, at the end, the text that is being written. */
export function Conversation({ chat, state, pending }: { chat: ChatOfPage; state: ChatState; pending: Pending | undefined }) {
  const end = useRef<HTMLDivElement>(null);
  const kept = new Set(chat.toolCalls.map((call) => call.id));
  const calls = [...chat.toolCalls, ...state.calls.filter((call) => !kept.has(call.id))];
  const last = state.messages.at(-1)?.sequence ?? 0;
  const early = calls.filter((call) => call.messageSequence > last);
  const count = state.messages.length + calls.length + (pending || state.question ? 1 : 0) + (state.draft?.text.length ?? 0);
  useEffect(() => {
    // Newer browsers return a promise here, which is not a clean-up function.
    void end.current?.scrollIntoView({ block: "nearest" });
  }, [count]);
  return (
    <section className={`card ${styles.frame}`} aria-label="Conversation" tabIndex={0}>
      <div className={styles.log} role="log" aria-live="polite">
        {state.messages.length === 0 && !pending && <p className="muted">Waiting for the contact's first message.</p>}
        {state.messages.map((message) => (
          <div key={message.sequence} className={styles.turn}>
            <Said message={message} agent={chat.agent.name} question={asked(message, state.messages, calls)} />
            {calls
              .filter((call) => call.messageSequence === message.sequence)
              .map((call) => (
                <Call key={call.id} call={call} />
              ))}
            {message.isConversationEnded && <p className="muted small">The conversation ended: {message.endReason ?? "no reason given"}</p>}
          </div>
        ))}
      </div>
      <div className={styles.log} aria-live="off">
        {!pending && state.question && (
          <Message role="user" name="you">
            {state.question.text}
          </Message>
        )}
        {pending && (
          <Message role="user" name={pending.isFailed ? "you, not sent" : "you"}>
            {pending.text}
          </Message>
        )}
        {early.map((call) => (
          <Call key={call.id} call={call} />
        ))}
        {state.draft ? (
          <Message role="assistant" name={`${chat.agent.name} is writing`}>
            {state.draft.text}
            <span aria-hidden="true">▏</span>
          </Message>
        ) : (
          (pending ? !pending.isFailed : state.question) && (
            <p className="muted" role="status">
              {chat.agent.name} is thinking…
            </p>
          )
        )}
      </div>
      <div ref={end} />
    </section>
  );
}

const citation = /\[(\d+)\]/g;

/** The knowledge base query for the message: the contact's last message, or a model's rewrite. Sub-agents query later. */
function asked({ sequence }: ChatMessage, messages: readonly ChatMessage[], calls: readonly Pick<LiveCall, "kind" | "messageSequence" | "arguments">[]): string {
  const said = messages.findLast((other) => other.role === "user" && other.sequence < sequence);
  const retrieval = calls.find((call) => call.kind === "Retrieval" && call.messageSequence === said?.sequence);
  const question = retrieval?.arguments?.question;
  return typeof question === "string" ? question : (said?.text ?? "");
}

function Said({ message, agent, question }: { message: ChatMessage; agent: string; question: string }) {
  const [open, setOpen] = useState<Citation>();
  const cited = new Map(message.citations?.map((c) => [c.number, c]));
  const parts: (string | Citation)[] = [];
  let end = 0;
  for (const found of message.text.matchAll(citation)) {
    const source = cited.get(Number(found[1]));
    if (!source) continue;
    parts.push(message.text.slice(end, found.index), source);
    end = found.index + found[0].length;
  }
  parts.push(message.text.slice(end));
  return (
    <Message
      role={message.role}
      number={message.sequence}
      name={message.role === "user" ? "you" : agent}
      extra={open && <Source citation={open} question={question} />}
    >
      {parts.map((part, i) =>
        typeof part === "string" ? (
          part
        ) : (
          <button
            key={i}
            type="button"
            className={styles.citation}
            aria-expanded={open === part}
            aria-label={`Source ${part.number}: ${part.documentName}`}
            onClick={() => setOpen(open === part ? undefined : part)}
          >
            {part.number}
          </button>
        ),
      )}
    </Message>
  );
}

function Source({ citation, question }: { citation: Citation; question: string }) {
  return (
    <blockquote className={styles.source}>
      <Link href={`/knowledge/documents/${citation.documentId}?chunk=${citation.position + 1}`}>{citation.documentName}</Link>, chunk {citation.position + 1}
      <p>{citation.content}</p>
      {question && <RightAnswer key={citation.number} question={question} documentId={citation.documentId} passage={citation.content} />}
    </blockquote>
  );
}
