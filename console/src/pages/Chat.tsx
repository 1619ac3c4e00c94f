import { useEffect, useReducer, useRef, useState } from "react";
import { Link, useParams } from "wouter";
import { graphql } from "../api/graphql";
import { useLive, useReconnected } from "../api/live";
import { useAction, usePage } from "../api/page";
import { authorized } from "../api/session";
import { chatAfter, emptyChat, type ChatState } from "../logic/chat";
import { suggestions } from "../logic/suggestions";
import { Act, may } from "../ui/Act";
import { Avatar } from "../ui/Avatar";
import { Icon } from "../ui/Icon";
import { Page } from "../ui/Page";
import { errorText, Failure, Shown } from "../ui/states";
import { Status } from "../ui/Status";
import { useRepeat } from "../ui/useRepeat";
import styles from "./Chat.module.css";
import { keepIn, keptIn } from "./agent/draft";
import { Approvals } from "./chat/Approvals";
import { ChatFacts } from "./chat/ChatFacts";
import { Compose, type Pending } from "./chat/Compose";
import { Conversation } from "./chat/Conversation";
import { isReal } from "./chat/Coverage";
import { ChatEvents, ChatMessages, eventOf } from "./chat/live";
import { ChatQuery, type ChatOfPage } from "./chat/query";
import { TestFromChat } from "./chat/TestFromChat";
import { usePaced } from "./chat/usePaced";

const SendMessage = graphql(`
  mutation Send($input: SendSimulationMessageInput!) {
    sendSimulationMessage(input: $input) {
      newMessages {
        sequence role text timestamp isConversationEnded endReason citations { number documentId documentName position content }
        usage { model isFallback inputTokens outputTokens firstTokenMs tookMs credits }
      }
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
  const [pending, setPending] = useState(() => keptIn<Pending>("unsent", chat.id));
  const isSending = Boolean(pending && !pending.isFailed);
  const live = useLiveChat(chat, refresh, isSending);
  const state = usePaced(live);
  const [isOpen, setOpen] = usePanel();
  const [isTest, setTest] = useState(false);
  const sendMessage = useAction(SendMessage);
  const end = useAction(EndChat);
  const field = useRef<HTMLTextAreaElement>(null);
  const isEnded = chat.status === "Ended" || live.messages.some((message) => message.isConversationEnded);

  const send = async ({ text, key }: Pick<Pending, "text" | "key">) => {
    const after = live.messages.at(-1)?.sequence ?? 0;
    setPending({ text, key, after });
    keepIn("unsent", chat.id, undefined);
    let isAway = false;
    const sent = await sendMessage.run(
      { input: { simulationChatId: chat.id, text } },
      { fetchOptions: { headers: authorized({ "Idempotency-Key": key }) } },
      (error) => (isAway = Boolean(error.networkError)),
    );
    const unsent = sent ? undefined : { text, key, after, isFailed: true };
    setPending(unsent);
    if (unsent) keepIn("unsent", chat.id, unsent);
    // Reading an unreachable server would only report it a second time.
    if (!isAway) refresh();
  };
  // The message may already be in the chat before its mutation returns.
  const isSaid = pending && live.messages.some(({ role, text, sequence }) => role === "user" && sequence > pending.after && text === pending.text);
  const unsaid = isSaid ? undefined : pending;
  // Another tab may have sent the message of the failed turn. Only the sender can send it again.
  const failure = unsaid?.isFailed && sendMessage.error ? errorText(sendMessage.error) : (!pending || unsaid?.isFailed) && live.failure;
  const isReplying = isSending || chat.status === "Replying";
  const said = new Set(live.messages.map(({ text }) => text));
  const scenarios = chat.agent.tests.nodes.flatMap((test) => (test.__typename === "SimulationTest" ? [test.scenario] : []));
  return (
    <Page
      title={chat.agent.name}
      name={`Chat with ${chat.agent.name}`}
      face={<Avatar agent={chat.agent} />}
      crumbs={[{ to: "/chats", text: "Chats" }]}
      isFull
      facts={
        <>
          <Status of={isEnded ? "Ended" : isReplying ? "Replying" : chat.status} />
          {chat.isDraft && (
            <span title="This chat uses an unsaved draft of the prompt">
              <Status of="Draft" />
            </span>
          )}
        </>
      }
      actions={
        <>
          <Act scope="write" className="wide" disabled={live.messages.length === 0} onClick={() => setTest(true)}>
            <Icon name="tests" />
            Create test
          </Act>
          <Act scope="simulate" className="wide" disabled={isEnded || end.isBusy} onClick={() => void end.run({ input: { simulationChatId: chat.id } }).then(refresh)}>
            End chat
          </Act>
          <button type="button" className="quiet only" aria-label="Details" title="Details" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            <Icon name="panel" />
          </button>
        </>
      }
      more={
        <>
          <button type="button" className="narrow" disabled={live.messages.length === 0 || !may("write")} onClick={() => setTest(true)}>
            Create test
          </button>
          <button type="button" className="narrow" disabled={isEnded || !may("simulate")} onClick={() => void end.run({ input: { simulationChatId: chat.id } }).then(refresh)}>
            End chat
          </button>
          <Link href={`/chats/new?agent=${chat.agent.id}${chat.isDraft ? "&draft=1" : ""}`}>
            <Icon name="restore" />
            Start again
          </Link>
          <Link href={`/agents/${chat.agent.id}`}>
            <Icon name="agents" />
            Open the agent
          </Link>
        </>
      }
    >
      <div className={styles.talk} data-open={isOpen}>
        <div className={styles.scene}>
          <Conversation chat={chat} state={state} pending={unsaid} />
          <Approvals chatId={chat.id} isOver={isEnded} className={styles.faults} />
          {(end.error || failure || unsaid?.isFailed) && (
            <div className={styles.faults}>
              {end.error && <Failure error={end.error} />}
              {(failure || unsaid?.isFailed) && (
                <div className="note bad row" role="alert">
                  <span>{failure ? `The turn failed: ${failure}` : "Your last message was not sent."}</span>
                  {unsaid && !isEnded && (
                    <button type="button" className="push" onClick={() => {
                      void send(unsaid);
                      field.current?.focus();
                    }}>
                      Send again
                    </button>
                  )}
                </div>
              )}
            </div>
          )}
          <Compose
            field={field}
            chatId={chat.id}
            isEnded={isEnded}
            isBusy={isReplying}
            suggestions={suggestions(scenarios, said)}
            unsent={unsaid?.isFailed ? unsaid.text : ""}
            send={(message) => void send(message)}
          >
            <Reality calls={chat.coverage} />
          </Compose>
        </div>
        {isOpen && <ChatFacts chat={chat} />}
      </div>
      {isTest && <TestFromChat chatId={chat.id} agent={chat.agent} messages={live.messages} onClose={() => setTest(false)} />}
    </Page>
  );
}

/** Whether any call of the chat reaches something outside. */
function Reality({ calls }: { calls: ChatOfPage["coverage"] }) {
  const real = calls.filter(isReal);
  if (real.length === 0) return <span>Sandboxed: no real calls</span>;
  return <span className="fault">Real calls: {real.map((call) => call.technicalName).join(", ")}</span>;
}

/** Whether the details are folded, in this browser. */
function usePanel(): [isOpen: boolean, set: (isOpen: boolean) => void] {
  const name = "agentgraph:details";
  const [isOpen, set] = useState(() => localStorage.getItem(name) !== "folded" && innerWidth > 860);
  return [
    isOpen,
    (next) => {
      if (next) localStorage.removeItem(name);
      else localStorage.setItem(name, "folded");
      set(next);
    },
  ];
}

const isTurn = (event: string) => event === "TurnStarted" || event === "TurnFailed";

/** For how long after its end a chat is read again for its extracted values, in milliseconds. */
const extractionPatience = 60_000;

/** How often a chat is read again while a message of another tab is answered, in milliseconds. */
const watchPace = 2_000;

/**
 * Messages come by a subscription of their own, which misses none. Events only show the text that is being written. The
 * chat is read again when the turn of another tab begins or ends, since the sender of a message gets the new state.
 */
function useLiveChat(chat: ChatOfPage, refresh: () => void, isSending: boolean): ChatState {
  const [state, dispatch] = useReducer(chatAfter, chat.messages, (messages) => chatAfter(emptyChat, { kind: "read", messages }));
  const [after] = useState(() => chat.messages.at(-1)?.sequence ?? 0);
  const isOver = chat.status === "Ended";
  useEffect(() => dispatch({ kind: "read", messages: chat.messages }), [chat.messages]);
  useLive(
    ChatMessages,
    { id: chat.id, after },
    ({ simulationChatMessages: message }) => {
      dispatch({ kind: "written", message });
      if (message.isConversationEnded || (message.role === "assistant" && chat.status === "Replying" && !isSending)) refresh();
    },
    isOver,
  );
  useLive(
    ChatEvents,
    { id: chat.id },
    ({ simulationChatEvents: event }) => {
      const change = eventOf(event);
      if (change) dispatch(change);
      if (event.__typename === "ChatEnded" || (isTurn(event.__typename) && !isSending)) refresh();
    },
    isOver,
  );
  useReconnected(refresh);
  useRepeat(refresh, watchPace, chat.status === "Replying" && !isSending);
  // Values are extracted after the chat ends, without an event.
  const isExtracting = isOver && chat.agent.extractedValues.length > 0 && chat.extracted === null && chat.extractionError === null;
  const [opened] = useState(Date.now);
  useRepeat(refresh, 2_000, isExtracting && opened - Date.parse(chat.endedAt ?? "") < extractionPatience);
  return state;
}
