import { graphql, type ResultOf } from "../../api/graphql";

export const ChatQuery = graphql(`
  query Chat($id: ID!) {
    simulationChat(id: $id) {
      id status isDraft dataBag warnings createdAt endedAt extracted extractionError
      agent {
        id name promptVersion channel direction
        subAgents { id agent { id name } }
        tests(first: 20) { nodes { __typename id ... on SimulationTest { scenario } } }
        testFolders { id name } extractedValues { name }
      }
      messages {
        sequence role text timestamp isConversationEnded endReason citations { number documentId documentName position content }
        usage { model isFallback inputTokens outputTokens firstTokenMs tookMs credits }
      }
      toolCalls { id kind technicalName arguments result mocked isReal mockRule messageSequence delegationId durationMs error isTurnKept approval }
      coverage { kind targetId technicalName path effect }
    }
  }
`);

export type ChatOfPage = NonNullable<ResultOf<typeof ChatQuery>["simulationChat"]>;
