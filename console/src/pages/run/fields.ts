import { graphql, type ResultOf } from "../../api/graphql";

export const RunFields = graphql(`
  fragment RunFields on AgentTestRun @_unmask {
    id testId testName attempt status turnCount endReason promptVersion isDraft durationMs createdAt
    messages { role text }
    criteriaResults { criterion passed rationale decidedBy evidence { messageIndex quote toolCallId speaker } }
    classificationResult { tagExpected tagProduced passed rationale }
    error { cause message }
    toolCalls { id kind technicalName arguments result mocked mockRule messageSequence delegationId durationMs error isTurnKept }
    execution { id repeats status agent { id name } }
    test { __typename id name folder { id name } ... on SimulationTest { scenario maxTurns } }
  }
`);

export type RunOfPage = ResultOf<typeof RunFields>;
