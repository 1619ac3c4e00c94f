import type { AnswerUsage } from "./usage";

export interface ChatMessage {
  sequence: number;
  role: "assistant" | "user";
  text: string;
  timestamp?: string | null;
  isConversationEnded?: boolean;
  endReason?: string | null;
  citations?: readonly Citation[];
  usage?: AnswerUsage | null;
}

export interface Citation {
  number: number;
  documentId: string;
  documentName: string;
  position: number;
  content: string;
}

/** A call that an event announced. The chat's own record of calls replaces it. */
export interface LiveCall {
  id: string;
  kind: string;
  technicalName: string;
  messageSequence: number;
  isRunning: boolean;
  arguments?: Record<string, unknown> | null;
  result?: string | null;
  mocked?: boolean;
  isReal?: boolean;
  error?: string | null;
  durationMs?: number;
}

/** A call as the chat records it. */
export interface KeptCall extends Omit<LiveCall, "isRunning"> {
  durationMs: number;
  isTurnKept: boolean;
  approval?: string | null;
}

/** A call as the chat shows it. */
export type ShownCall = Omit<LiveCall, "isRunning"> & { isRunning?: boolean; isTurnKept?: boolean; approval?: string | null };

/** The text that the agent is writing. It may be discarded until it is a message. */
export interface Draft {
  turnId: string;
  text: string;
  /** How many characters of the turn's text have been sent, including missed ones. */
  length: number;
}

/** The contact's text while the agent answers. It becomes a message together with the answer. */
export interface Question {
  sequence: number;
  text: string;
}

export interface ChatState {
  /** By sequence, each once. */
  messages: readonly ChatMessage[];
  question: Question | undefined;
  draft: Draft | undefined;
  calls: readonly LiveCall[];
  /** Why the last turn failed. */
  failure: string | undefined;
}

export const emptyChat: ChatState = { messages: [], question: undefined, draft: undefined, calls: [], failure: undefined };

export type ChatEvent =
  | { kind: "read"; messages: readonly ChatMessage[] }
  | { kind: "written"; message: ChatMessage }
  | { kind: "started"; question: Question }
  | { kind: "piece"; turnId: string; offset: number; text: string }
  | { kind: "called"; call: LiveCall }
  | { kind: "suspended" }
  | { kind: "failed"; reason: string };

/**
 * Returns what a chat shows after an event. Messages are authoritative and are ordered by sequence, whatever their
 * source. Events only show the text that is being written.
 */
export function chatAfter(state: ChatState, event: ChatEvent): ChatState {
  switch (event.kind) {
    case "read": {
      const next = withMessages(state, event.messages);
      const isAhead = next.messages.length > state.messages.length;
      return { ...state, ...next, draft: undefined, failure: isAhead ? undefined : state.failure };
    }
    case "written":
      return {
        ...state,
        ...withMessages(state, [event.message]),
        draft: event.message.role === "assistant" ? undefined : state.draft,
        failure: undefined,
      };
    case "started":
      return { ...state, question: event.question, draft: undefined, failure: undefined };
    case "piece":
      return { ...state, draft: drafted(state.draft, event), failure: undefined };
    case "called":
      return { ...state, calls: [...state.calls.filter((call) => call.id !== event.call.id), event.call] };
    case "suspended":
      return { ...state, draft: undefined };
    case "failed":
      return { ...state, question: undefined, draft: undefined, failure: event.reason };
  }
}

function withMessages({ messages, question }: ChatState, more: readonly ChatMessage[]): Pick<ChatState, "messages" | "question"> {
  const all = merged(messages, more);
  return { messages: all, question: all.some((message) => message.sequence === question?.sequence) ? undefined : question };
}

function merged(known: readonly ChatMessage[], more: readonly ChatMessage[]): ChatMessage[] {
  const bySequence = new Map(known.map((message) => [message.sequence, message]));
  for (const message of more) bySequence.set(message.sequence, message);
  return [...bySequence.values()].sort((a, b) => a.sequence - b.sequence);
}

/**
 * Offsets count Unicode characters from the beginning of the turn's text. Characters that are already shown are not added again.
 */
function drafted(draft: Draft | undefined, piece: { turnId: string; offset: number; text: string }): Draft {
  const before = draft?.turnId === piece.turnId ? draft : { turnId: piece.turnId, text: "", length: 0 };
  const characters = [...piece.text];
  const isHole = piece.offset > before.length;
  return {
    turnId: piece.turnId,
    text: before.text + (isHole ? "…" : "") + characters.slice(isHole ? 0 : before.length - piece.offset).join(""),
    length: Math.max(before.length, piece.offset + characters.length),
  };
}

/**
 * Returns the calls to show, from the chat's record and from events. During a turn, the record says that a call which is
 * still running failed, and that no call was saved. It says so too while a call waits for a person and no process answers.
 * `last` is the last message, and `isReplying` says that a turn is in progress.
 */
export function callsOf(kept: readonly KeptCall[], live: readonly LiveCall[], last: number, isReplying: boolean): ShownCall[] {
  const isUnfinished = isReplying || kept.some((call) => call.approval === "Pending" && call.messageSequence > last);
  const events = new Map(live.map((call) => [call.id, call]));
  const known = kept.map((call): ShownCall => {
    if (!isUnfinished || call.messageSequence <= last || call.isTurnKept) return call;
    const event = events.get(call.id);
    const isPending = call.approval === "Pending";
    // The events of a suspended turn say that its call ended.
    const isRunning = (isPending && !isReplying) || (event?.isRunning ?? (isPending || (call.durationMs === 0 && Boolean(call.error))));
    return { ...call, ...event, arguments: call.arguments, isRunning, error: isRunning ? null : (event ?? call).error, isTurnKept: undefined };
  });
  const ids = new Set(kept.map(({ id }) => id));
  return [...known, ...live.filter(({ id }) => !ids.has(id))];
}
