import { graphql, type ResultOf } from "../../api/graphql";

export const AgentQuery = graphql(`
  query Agent($id: ID!, $seesPrompt: Boolean!) {
    agent(id: $id) {
      allTests: tests(first: 1) { totalCount }
      redTests: tests(first: 1, filter: { lastRunStatuses: [Failed, Error] }) { totalCount }
      simulationChats(first: 1) { totalCount }
      id name channel direction language tags prompt @include(if: $seesPrompt) promptVersion updatedAt
      inboundWelcomeMessage outboundWelcomeMessage isCallTransferEnabled model
      fields { name isMandatory isSystem }
      classificationTags { name definition isSystem }
      extractedValues { name definition type }
      tools { id name technicalName description parameters endpoint { method url headerNames timeoutSeconds } mcpServer { id name } mcpName missingSince approval }
      subAgents { id name technicalName description agent { id name channel } }
      knowledgeBaseChatId
      knowledgeBaseChat { id name datasets { id name documentCount chunkCount } promptSettings { showQuote } }
    }
  }
`);

export type AgentOfPage = NonNullable<ResultOf<typeof AgentQuery>["agent"]>;
