import { graphql, type ResultOf } from "../../api/graphql";
import { LabelFields } from "./mark";

export const RunFields = graphql(`
  fragment RunFields on AgentTestRun @_unmask {
    id testId testName rowNumber rowName attempt status turnCount endReason promptVersion isDraft durationMs createdAt extracted extractionError
    messages { role text }
    checkResults { check { weight } expected passed observed evidence { messageIndex quote toolCallId speaker } }
    score
    criteriaResults { criterion expected weight passed applies rationale decidedBy agreement evidence { messageIndex quote toolCallId speaker } }
    classificationResult { tagExpected tagProduced passed rationale }
    error { cause message }
    toolCalls { id kind technicalName arguments result mocked isReal mockRule messageSequence delegationId durationMs error isTurnKept }
    usage { models fallbacks inputTokens outputTokens credits firstTokenMs { p50 } }
    execution { id repeats status votes judgeModel agent { id name } }
    labels { ...LabelFields }
    rejudgeOf { id status labels { ...LabelFields } }
    rejudgements { id status execution { id judgeModel } }
    test { __typename id name folder { id name } ... on SimulationTest { scenario maxTurns } }
  }
`, [LabelFields]);

export type RunOfPage = ResultOf<typeof RunFields>;

type CriterionResult = RunOfPage["criteriaResults"][number];

/** A verdict of a run, on one of its checks or criteria. */
export interface Verdict extends Pick<CriterionResult, "weight" | "passed" | "applies" | "decidedBy" | "agreement" | "evidence"> {
  /** The criterion as written; undefined for a check. */
  criterion?: string;
  what: string;
  why: string;
}

/** The part of a run that its transcript shows. */
export type RunOfTranscript = Pick<RunOfPage, "messages" | "toolCalls" | "checkResults" | "criteriaResults" | "execution">;

export function verdictsOf(run: Pick<RunOfPage, "checkResults" | "criteriaResults">): Verdict[] {
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
