import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { callsOf, type ChatMessage, type ChatState, type Citation, type LiveCall } from "../../logic/chat";
import { exactTime } from "../../logic/times";
import { answerText } from "../../logic/usage";
import { Call, Message } from "../../ui/Transcript";
import type { ChatOfPage } from "./query";
import { RightAnswer } from "../knowledge/RightAnswer";
import type { Pending } from "./Compose";
import styles from "./Conversation.module.css";

/** The messages and calls and, at the end, the text that is being written. */
export function Conversation({ chat, state, pending }: { chat: ChatOfPage; state: ChatState; pending: Pending | undefined }) {
  const end = useRef<HTMLDivElement>(null);
  const last = state.messages.at(-1)?.sequence ?? 0;
  const isReplying = chat.status === "Replying";
  const calls = callsOf(chat.toolCalls, state.calls, last, isReplying);
  /** The message that is being answered, unless it is the one that this tab sent. */
  const question = chat.status === "Ended" || (pending && (!pending.isFailed || pending.text === state.question?.text)) ? undefined : state.question;
  const early = calls.filter((call) => call.messageSequence > last);
  const count = state.messages.length + calls.length + (pending || question ? 1 : 0) + (state.draft?.text.length ?? 0);
  useEffect(() => {
    // Newer browsers return a promise here, which is not a clean-up function.
    void end.current?.scrollIntoView({ block: "nearest" });
  }, [count]);
  const isThinking = !state.draft && (isReplying || (pending ? !pending.isFailed : Boolean(question)));
  return (
    <section className={styles.script} aria-label="Conversation" tabIndex={0}>
      <div className={styles.log} role="log" aria-live="polite">
        {state.messages.length === 0 && !pending && <p className="muted">Write the contact's first message below.</p>}
        {state.messages.map((message) => (
          <div key={message.sequence} className={styles.turn}>
            <Said message={message} agent={chat.agent} question={asked(message, state.messages, calls)} />
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
        {question && (
          <Message role="user" name="you">
            {question.text}
          </Message>
        )}
        {pending && (
          <Message role="user" name="you" aside={pending.isFailed ? "not sent" : undefined}>
            {pending.text}
          </Message>
        )}
        {early.map((call) => (
          <Call key={call.id} call={call} />
        ))}
        {state.draft && (
          <Message role="assistant" name={chat.agent.name} agent={chat.agent} aside="is writing">
            {state.draft.text}
            <span className={styles.caret} aria-hidden="true" />
          </Message>
        )}
        {isThinking && (
          <p className="muted small" role="status">
            <bdi>{chat.agent.name}</bdi> is thinking…
          </p>
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

const clock = new Intl.DateTimeFormat("en", { hour: "numeric", minute: "2-digit" });

function Said({ message, agent, question }: { message: ChatMessage; agent: ChatOfPage["agent"]; question: string }) {
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
  const isUser = message.role === "user";
  const usage = message.usage && answerText(message.usage);
  return (
    <Message
      role={message.role}
      number={message.sequence}
      name={isUser ? "you" : agent.name}
      agent={agent}
      aside={isUser || !message.timestamp ? undefined : <time title={exactTime(message.timestamp)}>{clock.format(new Date(message.timestamp))}</time>}
      extra={
        <>
          {cited.size > 0 && <Sources citations={[...cited.values()]} />}
          {open && <Source citation={open} question={question} />}
          {usage && <p className="muted small">{usage}</p>}
        </>
      }
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
            <span className={styles.number}>{part.number}</span>
          </button>
        ),
      )}
    </Message>
  );
}

function Sources({ citations }: { citations: readonly Citation[] }) {
  return (
    <div className={styles.sources}>
      {citations.map((citation) => (
        <Link key={citation.number} href={`/knowledge/documents/${citation.documentId}?chunk=${citation.position + 1}`}>
          <span className={styles.number}>{citation.number}</span>
          {citation.documentName}
        </Link>
      ))}
    </div>
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
