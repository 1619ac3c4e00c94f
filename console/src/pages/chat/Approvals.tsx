import { useState } from "react";
import { graphql } from "../../api/graphql";
import { useLive, useReconnected } from "../../api/live";
import { useAction, usePage } from "../../api/page";
import { Act } from "../../ui/Act";
import { Failure } from "../../ui/states";
import { Time } from "../../ui/Time";

const PendingApprovals = graphql(`
  query PendingApprovals($id: ID!) {
    simulationChat(id: $id) { id pendingApprovals { id technicalName arguments approvalUntil } }
  }
`);

const ApprovalEvents = graphql(`
  subscription ApprovalEvents($id: ID!) {
    simulationChatEvents(simulationChatId: $id) {
      __typename
      ... on ToolApprovalChanged { id approval }
      ... on ToolCallStarted { id }
    }
  }
`);

/** It does not read the approval: until the chat is read again, the call waits. */
const AnswerApproval = graphql(`
  mutation AnswerApproval($input: AnswerToolApprovalInput!) {
    answerToolApproval(input: $input) { toolCall { id } }
  }
`);

/** The calls of a chat that wait for a person, with buttons to approve or deny them. */
export function Approvals({ chatId, isOver, className }: { chatId: string; isOver: boolean; className: string | undefined }) {
  const { data, refresh } = usePage(PendingApprovals, { id: chatId }, { onFocus: true });
  useLive(
    ApprovalEvents,
    { id: chatId },
    ({ simulationChatEvents: event }) => {
      if (event.__typename === "ToolApprovalChanged") refresh();
    },
    isOver,
  );
  useReconnected(refresh);
  const calls = data?.simulationChat?.pendingApprovals;
  if (isOver || !calls?.length) return null;
  return (
    <div className={className}>
      {calls.map((call) => (
        <Approval key={call.id} call={call} onAnswered={refresh} />
      ))}
    </div>
  );
}

interface Waiting {
  id: string;
  technicalName: string;
  arguments: unknown;
  approvalUntil: string | null;
}

function Approval({ call, onAnswered }: { call: Waiting; onAnswered: () => void }) {
  const { run, error, isBusy } = useAction(AnswerApproval);
  const [note, setNote] = useState("");
  const answer = async (isApproved: boolean) => {
    await run({ input: { toolCallId: call.id, isApproved, note: note.trim() || undefined } });
    onAnswered();
  };
  return (
    <section className="card" aria-label={`Approve ${call.technicalName}`}>
      <header className="between">
        <strong>
          Approve <code>{call.technicalName}</code>?
        </strong>
        {call.approvalUntil && (
          <span className="muted small">
            Denied <Time at={call.approvalUntil} />
          </span>
        )}
      </header>
      <div className="body stack">
        <pre className="small">{JSON.stringify(call.arguments, null, 2)}</pre>
        {error && <Failure error={error} />}
        <div className="row">
          <input aria-label="Note" placeholder="Note for the agent" maxLength={1000} value={note} onChange={(event) => setNote(event.target.value)} />
          <Act scope="simulate" className="primary" disabled={isBusy} onClick={() => void answer(true)}>
            Approve
          </Act>
          <Act scope="simulate" disabled={isBusy} onClick={() => void answer(false)}>
            Deny
          </Act>
        </div>
      </div>
    </section>
  );
}
