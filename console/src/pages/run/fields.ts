import { graphql, type ResultOf } from "../../api/graphql";

export const RunFields = graphql(`
  fragment RunFields on AgentTestRun @_unmask {
    id testId testName attempt status turnCount endReason promptVersion isDraft durationMs createdAt
    messages { role text }
    checkResults { check { description weight } passed observed evidence { messageIndex quote } }
    score
    criteriaResults { criterion weight passed applies rationale evidence { messageIndex quote } }
    classificationResult { tagExpected tagProduced passed rationale }
    error { cause message }
    toolCalls { id kind technicalName arguments result mocked mockRule messageSequence delegationId durationMs error isTurnKept }
    execution { id repeats status agent { id name } }
    test { __typename id name folder { id name } ... on SimulationTest { scenario maxTurns } }
  }
`);

export type RunOfPage = ResultOf<typeof RunFields>;

/** What was decided of a run: by its checks, and then on its criteria. */
export interface Verdict {
  what: string;
  why: string;
  weight: number | null;
  passed: boolean;
  isCheck: boolean;
  applies: boolean;
  evidence: RunOfPage["criteriaResults"][number]["evidence"];
}

export function verdictsOf(run: RunOfPage): Verdict[] {
  return [
    ...run.checkResults.map(({ check, observed, passed, evidence }) => ({
      what: check.description,
      why: `Observed: ${observed}`,
      weight: check.weight,
      passed,
      isCheck: true,
      applies: true,
      evidence,
    })),
    ...run.criteriaResults.map(({ criterion, rationale, weight, passed, applies, evidence }) => ({
      what: criterion,
      why: rationale,
      weight,
      passed,
      isCheck: false,
      applies,
      evidence,
    })),
  ];
}
