import { graphql, type ResultOf } from "../../api/graphql";

export const RunFields = graphql(`
  fragment RunFields on AgentTestRun @_unmask {
    id testId testName rowNumber rowName attempt status turnCount endReason promptVersion isDraft durationMs createdAt extracted extractionError
    messages { role text }
    checkResults { check { weight } expected passed observed evidence { messageIndex quote toolCallId speaker } }
    score
    criteriaResults { expected weight passed applies rationale decidedBy agreement evidence { messageIndex quote toolCallId speaker } }
    classificationResult { tagExpected tagProduced passed rationale }
    error { cause message }
    toolCalls { id kind technicalName arguments result mocked mockRule messageSequence delegationId durationMs error isTurnKept }
    execution { id repeats status votes judgeModel agent { id name } }
    rejudgeOf { id status }
    rejudgements { id status execution { id judgeModel } }
    test { __typename id name folder { id name } ... on SimulationTest { scenario maxTurns } }
  }
`);

export type RunOfPage = ResultOf<typeof RunFields>;

type CriterionResult = RunOfPage["criteriaResults"][number];

/** A verdict of a run: first those of its checks, then those of its criteria. */
export interface Verdict extends Pick<CriterionResult, "weight" | "passed" | "applies" | "decidedBy" | "agreement" | "evidence"> {
  what: string;
  why: string;
}

export function verdictsOf(run: RunOfPage): Verdict[] {
  return [
    ...run.checkResults.map(({ check, expected, observed, passed, evidence }) => ({
      what: expected,
      why: `Observed: ${observed}`,
      weight: check.weight,
      passed,
      applies: true,
      decidedBy: "Program" as const,
      agreement: null,
      evidence,
    })),
    ...run.criteriaResults.map(({ expected, rationale, ...rest }) => ({ ...rest, what: expected, why: rationale })),
  ];
}
