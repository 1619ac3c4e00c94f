import { useEffect, useReducer, useState } from "react";
import { Link, useParams } from "wouter";
import { graphql } from "../api/graphql";
import { useLive, useReconnected } from "../api/live";
import { useAction, usePage } from "../api/page";
import { authorized } from "../api/session";
import { chatAfter, emptyChat, type ChatState } from "../logic/chat";
import { Act } from "../ui/Act";
import { Page } from "../ui/Page";
import { errorText, Failure, Shown } from "../ui/states";
import { Status } from "../ui/Status";
import { Time } from "../ui/Time";
import { useRepeat } from "../ui/useRepeat";
import { ChatFacts } from "./chat/ChatFacts";
import { Compose, type Pending } from "./chat/Compose";
import { Conversation } from "./chat/Conversation";
import { ChatEvents, ChatMessages, eventOf } from "./chat/live";
import { ChatQuery, type ChatOfPage } from "./chat/query";
import { TestFromChat } from "./chat/TestFromChat";

const SendMessage = graphql(`
  mutation Send($input: SendSimulationMessageInput!) {
    sendSimulationMessage(input: $input) {
      newMessages { sequence role text timestamp isConversationEnded endReason citations { number documentId documentName position content } }
      simulationChat { id status warnings endedAt }
    }
  }
`);

const EndChat = graphql(`
  mutation EndChat($input: EndSimulationChatInput!) {
    endSimulationChat(input: $input) { simulationChat { id status endedAt } }
  }
`);

/** A simulated chat, live, in which the user plays the contact. */
export default function Chat() {
  const { id = "" } = useParams<{ id: string }>();
  const answer = usePage(ChatQuery, { id }, { onFocus: true });
  return (
    <Shown answer={answer} missing={`chat ${id}`}>
      {({ simulationChat }) => simulationChat && <ChatPage key={simulationChat.id} chat={simulationChat} refresh={answer.refresh} />}
    </Shown>
  );
}

function ChatPage({ chat, refresh }: { chat: ChatOfPage; refresh: () => void }) {
  const state = useLiveChat(chat, refresh);
  const [pending, setPending] = useState<Pending>();
  const [isTest, setTest] = useState(false);
  const sendMessage = useAction(SendMessage);
  const end = useAction(EndChat);
  const isEnded = chat.status === "Ended" || state.messages.some((message) => message.isConversationEnded);

  const send = async ({ text, key }: Pick<Pending, "text" | "key">) => {
    const after = state.messages.at(-1)?.sequence ?? 0;
    setPending({ text, key, after });
    const sent = await sendMessage.run(
      { input: { simulationChatId: chat.id, text } },
      { fetchOptions: { headers: authorized({ "Idempotency-Key": key }) } },
    );
    setPending(sent ? undefined : { text, key, after, isFailed: true });
    refresh();
  };
  // The message may already be in the chat before its mutation returns.
  const isSaid = pending && state.messages.some(({ role, text, sequence }) => role === "user" && sequence > pending.after && text === pending.text);
  const unsaid = isSaid ? undefined : pending;
  const wasFailed = unsaid?.isFailed && (sendMessage.error ? errorText(sendMessage.error) : state.failure);
  return (
    <Page
      title={`Chat with ${chat.agent.name}`}
      crumbs={[
        { to: "/chats", text: "Chats" },
        { to: `/agents/${chat.agent.id}`, text: chat.agent.name },
      ]}
      facts={
        <>
          <Status of={isEnded ? "Ended" : pending && !pending.isFailed ? "Replying" : chat.status} />
          {chat.isDraft && (
            <span title="This chat uses an unsaved draft of the prompt">
              <Status of="Draft" /> prompt
            </span>
          )}
          <span>
            started <Time at={chat.createdAt} />
          </span>
        </>
      }
      actions={
        <>
          <Act scope="write" disabled={state.messages.length === 0} onClick={() => setTest(true)}>
            Create test
          </Act>
          <Link className="button" href={`/chats/new?agent=${chat.agent.id}${chat.isDraft ? "&draft=1" : ""}`}>
            Start again
          </Link>
          <Act scope="simulate" disabled={isEnded || end.isBusy} onClick={() => void end.run({ input: { simulationChatId: chat.id } }).then(refresh)}>
            End
          </Act>
        </>
      }
    >
      <div className="split">
        <div className="stack">
          <Conversation chat={chat} state={state} pending={unsaid} />
          {end.error && <Failure error={end.error} />}
          {wasFailed && (
            <div className="note bad row" role="alert">
              <span>The turn failed: {wasFailed}</span>
              <button type="button" className="push" onClick={() => pending && void send(pending)}>
                Send again
              </button>
            </div>
          )}
          <Compose isEnded={isEnded} isBusy={Boolean(pending && !pending.isFailed)} send={(message) => void send(message)} />
        </div>
        <ChatFacts chat={chat} />
      </div>
      {isTest && <TestFromChat chatId={chat.id} agent={chat.agent} messages={state.messages} onClose={() => setTest(false)} />}
    </Page>
  );
}

/** For how long after its end a chat is read again for its extracted values, in milliseconds. */
const extractionPatience = 60_000;

/** Messages come by a subscription of their own, which misses none. Events only show the text that is being written. */
function useLiveChat(chat: ChatOfPage, refresh: () => void): ChatState {
  const [state, dispatch] = useReducer(chatAfter, chat.messages, (messages) => chatAfter(emptyChat, { kind: "read", messages }));
  const [after] = useState(() => chat.messages.at(-1)?.sequence ?? 0);
  const isOver = chat.status === "Ended";
  useEffect(() => dispatch({ kind: "read", messages: chat.messages }), [chat.messages]);
  useLive(
    ChatMessages,
    { id: chat.id, after },
    ({ simulationChatMessages: message }) => {
      dispatch({ kind: "written", message });
      if (message.isConversationEnded) refresh();
    },
    isOver,
  );
  useLive(
    ChatEvents,
    { id: chat.id },
    ({ simulationChatEvents: event }) => {
      const change = eventOf(event);
      if (change) dispatch(change);
      if (event.__typename === "ChatEnded") refresh();
    },
    isOver,
  );
  useReconnected(refresh);
  // Values are extracted after the chat ends, without an event.
  const isExtracting = isOver && chat.agent.extractedValues.length > 0 && chat.extracted === null && chat.extractionError === null;
  const [opened] = useState(Date.now);
  useRepeat(refresh, 2_000, isExtracting && opened - Date.parse(chat.endedAt ?? "") < extractionPatience);
  return state;
}
