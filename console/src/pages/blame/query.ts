import { graphql, type ResultOf } from "../../api/graphql";

const ChangeFields = graphql(`
  fragment ChangeFields on PromptChange @_unmask {
    number isSuspect
    section @include(if: $seesPrompt)
    before @include(if: $seesPrompt)
    after @include(if: $seesPrompt)
    needed @include(if: $seesPrompt)
    beforePieces @include(if: $seesPrompt) { text isChanged isNeeded }
    afterPieces @include(if: $seesPrompt) { text isChanged isNeeded }
  }
`);

const SearchFields = graphql(`
  fragment SearchFields on BlameSearch @_unmask {
    id status verdict error repeats runsAtMost goodVersion badVersion rowNumber rowName createdAt finishedAt isOnlyCause
    restoredPrompt @include(if: $seesPrompt)
    changes { ...ChangeFields }
    cause { number }
    steps { restored executionId judged passed isRepaired }
  }
`, [ChangeFields]);

const ComparedRun = graphql(`
  fragment ComparedRun on AgentTestRun @_unmask {
    id createdAt status
    messages @include(if: $seesMessages) { role text }
    checkResults @include(if: $seesMessages) { expected passed evidence { messageIndex quote toolCallId } }
    criteriaResults @include(if: $seesMessages) { expected passed applies evidence { messageIndex quote toolCallId } }
    classificationResult @include(if: $seesMessages) { tagExpected passed }
  }
`);

export const BlameQuery = graphql(`
  query Blame($id: ID!, $repeats: Int!, $seesPrompt: Boolean!, $seesMessages: Boolean!) {
    agentTest(id: $id) {
      __typename id name lastRunId lastRunStatus
      agent { id name promptVersion prompt @include(if: $seesPrompt) }
      failingSince { promptVersion lastPassed { promptVersion } }
      history(first: 100, isDraft: false) { id status promptVersion }
      blame {
        goodVersion badVersion rowNumber rowName partsAt
        goodRun { ...ComparedRun }
        badRun { ...ComparedRun }
        changes { ...ChangeFields }
        estimate(repeats: $repeats) { runs runsAtMost credits creditsAtMost }
        search { ...SearchFields }
      }
    }
  }
`, [ComparedRun, ChangeFields, SearchFields]);

export const StartBlame = graphql(`
  mutation StartBlame($input: StartBlameInput!, $seesPrompt: Boolean!) {
    startBlame(input: $input) { search { ...SearchFields } }
  }
`, [SearchFields]);

export const CancelBlame = graphql(`
  mutation CancelBlame($input: CancelBlameInput!) {
    cancelBlame(input: $input) { search { id status finishedAt } }
  }
`);

export const BlameUpdate = graphql(`
  subscription BlameUpdate($id: ID!, $seesPrompt: Boolean!) {
    blameUpdated(searchId: $id) { ...SearchFields }
  }
`, [SearchFields]);

/** The execution that tries the restored prompt, or a step of the search. */
export const DraftQuery = graphql(`
  query Draft($id: ID!) {
    agentTestExecution(id: $id) { id status counts { total judged passed failed error } }
  }
`);

export const DraftUpdate = graphql(`
  subscription DraftUpdate($id: ID!) {
    agentTestExecutionUpdated(executionId: $id) { id status counts { total judged passed failed error } }
  }
`);

export type TestOfPage = NonNullable<ResultOf<typeof BlameQuery>["agentTest"]>;
export type Blame = NonNullable<TestOfPage["blame"]>;
export type BlameSearch = NonNullable<Blame["search"]>;
export type PromptChange = Blame["changes"][number];
export type BlamedRun = Blame["goodRun"];
export type Draft = NonNullable<ResultOf<typeof DraftQuery>["agentTestExecution"]>;
