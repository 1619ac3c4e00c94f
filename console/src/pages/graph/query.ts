import { graphql, type ResultOf } from "../../api/graphql";

export const AgentGraphQuery = graphql(`
  query AgentGraph($first: Int!, $seesCalls: Boolean!) {
    agents(first: $first) {
      totalCount
      nodes {
        id name channel direction promptVersion
        tools { id name technicalName }
        subAgents { id name technicalName agent { id } }
        knowledgeBaseChat { id name }
        all: tests(first: 1) { totalCount }
        passed: tests(first: 1, filter: { lastRunStatuses: [Passed] }) { totalCount }
        failed: tests(first: 1, filter: { lastRunStatuses: [Failed] }) { totalCount }
        error: tests(first: 1, filter: { lastRunStatuses: [Error] }) { totalCount }
      }
    }
    simulationChats(first: 50) @include(if: $seesCalls) {
      nodes { id status agent { id name } lastMessage { id timestamp } toolCalls { id kind technicalName delegationId } }
    }
  }
`);

export const StartedCalls = graphql(`
  subscription StartedCalls($id: ID!) {
    simulationChatEvents(simulationChatId: $id) { __typename ... on ToolCallStarted { id kind technicalName delegationId } }
  }
`);

export type GraphData = ResultOf<typeof AgentGraphQuery>;
export type AgentNode = GraphData["agents"]["nodes"][number];
export type GraphChat = NonNullable<GraphData["simulationChats"]>["nodes"][number];
