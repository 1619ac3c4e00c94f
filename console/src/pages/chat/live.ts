import { graphql, type ResultOf } from "../../api/graphql";
import type { ChatEvent } from "../../logic/chat";

export const ChatMessages = graphql(`
  subscription ChatMessages($id: ID!, $after: Int!) {
    simulationChatMessages(simulationChatId: $id, afterSequence: $after) {
      sequence role text timestamp isConversationEnded endReason citations { number documentId documentName position content }
      usage { model isFallback inputTokens outputTokens firstTokenMs tookMs credits }
    }
  }
`);

export const ChatEvents = graphql(`
  subscription ChatEvents($id: ID!) {
    simulationChatEvents(simulationChatId: $id) {
      __typename
      ... on TurnStarted { messageSequence text }
      ... on MessageDelta { turnId offset text }
      ... on ToolCallStarted { id kind technicalName arguments messageSequence delegationId }
      ... on ToolCallFinished { id kind technicalName messageSequence delegationId result mocked isReal mockRule durationMs error }
      ... on TurnFailed { turnId reason isSuspended }
      ... on ChatEnded { endedAt }
    }
  }
`);

/** The change that an API event makes. Undefined if the message itself contains everything. */
export function eventOf(event: ResultOf<typeof ChatEvents>["simulationChatEvents"]): ChatEvent | undefined {
  switch (event.__typename) {
    case "TurnStarted":
      return { kind: "started", question: { sequence: event.messageSequence, text: event.text } };
    case "MessageDelta":
      return { kind: "piece", turnId: event.turnId, offset: event.offset, text: event.text };
    case "ToolCallStarted":
      return { kind: "called", call: { ...event, isRunning: true } };
    case "ToolCallFinished":
      return { kind: "called", call: { ...event, isRunning: false } };
    case "TurnFailed":
      return event.isSuspended ? { kind: "suspended" } : { kind: "failed", reason: event.reason };
    default:
      return undefined;
  }
}
