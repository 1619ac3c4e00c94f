import { useEffect } from "react";
import { quotedPieces, type Quote } from "../../logic/quotes";
import { Call, Message } from "../../ui/Transcript";
import { verdictsOf, type RunOfPage, type RunOfTranscript } from "./fields";
import styles from "./RunTranscript.module.css";

/** The messages, with the judge's quotes marked and numbered by criterion. */
export function RunTranscript({ run, selected }: { run: RunOfPage; selected: number | undefined }) {
  useEffect(() => {
    document.querySelector(`[data-criterion~="${selected}"]`)?.scrollIntoView({ block: "center", behavior: "smooth" });
  }, [selected]);
  return (
    <section aria-labelledby="transcript-title">
      <h2 id="transcript-title" className="unseen">
        Transcript
      </h2>
      <div className={styles.log}>
        {run.messages.map((_, index) => (
          <Turn key={index} run={run} index={index} selected={selected} />
        ))}
        {run.messages.length === 0 && <p className="muted">{run.status === "Queued" ? "Waiting in the queue." : "The transcript is empty."}</p>}
      </div>
    </section>
  );
}

/** A message of the run with the judge's quotes, and the calls after it. */
export function Turn({ run, index, selected, idPrefix }: { run: RunOfTranscript; index: number; selected?: number; idPrefix?: string }) {
  const message = run.messages[index];
  if (!message) return null;
  return (
    <div className={styles.turn}>
      <Message role={message.role} number={index} name={message.role === "user" ? "contact" : (run.execution.agent?.name ?? "agent")} agent={run.execution.agent ?? undefined} aside={index} idPrefix={idPrefix}>
        {quotedPieces(message.text, quotesOf(run, index)).map((piece, i) =>
          piece.criteria.length > 0 ? <Quoted key={i} text={piece.text} criteria={piece.criteria} selected={selected} /> : piece.text,
        )}
      </Message>
      {run.toolCalls
        .filter((call) => call.messageSequence === index)
        .map((call) => (
          <Call key={call.id} call={call} note={<CallMarks run={run} callId={call.id} selected={selected} />} />
        ))}
    </div>
  );
}

function quotesOf(run: RunOfTranscript, index: number): Quote[] {
  return verdictsOf(run).flatMap((result, i) =>
    result.evidence.filter((evidence) => evidence.messageIndex === index && !evidence.toolCallId).map((evidence) => ({ criterion: i + 1, text: evidence.quote })),
  );
}

function Quoted({ text, criteria, selected }: { text: string; criteria: number[]; selected: number | undefined }) {
  return (
    <mark className={styles.quote} data-criterion={criteria.join(" ")} data-selected={selected !== undefined && criteria.includes(selected)}>
      {text}
      {criteria.map((criterion) => (
        <sup key={criterion} title={`Criterion ${criterion}`}>
          {criterion}
        </sup>
      ))}
    </mark>
  );
}

/** The numbers of the criteria that quote a call. */
function CallMarks({ run, callId, selected }: { run: RunOfTranscript; callId: string; selected: number | undefined }) {
  const criteria = verdictsOf(run).flatMap((result, i) => (result.evidence.some((evidence) => evidence.toolCallId === callId) ? [i + 1] : []));
  if (criteria.length === 0) return null;
  return <Quoted text="quoted" criteria={criteria} selected={selected} />;
}
