import { graphql, type ResultOf } from "../../api/graphql";

export const HomeQuery = graphql(`
  query Home($from: DateBound!, $to: DateBound!, $seesCredits: Boolean!, $seesMessages: Boolean!) {
    company {
      id
      subscription @include(if: $seesCredits) { planName status creditsIncluded creditsUsed periodStart periodEnd }
    }
    consumptionBreakdown(from: $from, to: $to) @include(if: $seesCredits) { byDay { day credits } }
    red: agentTests(first: 50, filter: { lastRunStatuses: [Failed, Error] }) {
      totalCount
      nodes {
        __typename id name lastRunId lastRunStatus
        agent {
          id name
          all: tests(first: 1) { totalCount }
          passed: tests(first: 1, filter: { lastRunStatuses: [Passed] }) { totalCount }
          failed: tests(first: 1, filter: { lastRunStatuses: [Failed] }) { totalCount }
          error: tests(first: 1, filter: { lastRunStatuses: [Error] }) { totalCount }
        }
        failingSince { promptVersion run { id createdAt } lastPassed { id promptVersion } }
        history(first: 20, isDraft: false) { id status promptVersion createdAt }
      }
    }
    tests: agentTests(first: 1) { totalCount }
    passed: agentTests(first: 1, filter: { lastRunStatuses: [Passed] }) { totalCount }
    open: agentTests(first: 1, filter: { lastRunStatuses: [Cancelled, Skipped, Queued, Running] }) { totalCount }
    agents(first: 100) {
      totalCount
      nodes {
        id name
        all: tests(first: 1) { totalCount }
        passed: tests(first: 1, filter: { lastRunStatuses: [Passed] }) { totalCount }
        failed: tests(first: 1, filter: { lastRunStatuses: [Failed] }) { totalCount }
        error: tests(first: 1, filter: { lastRunStatuses: [Error] }) { totalCount }
      }
    }
    executions: agentTestExecutions(first: 10, filter: { statuses: [Queued, Running, Cancelling] }) {
      nodes { id status createdAt startedAt agent { id name } counts { total queued running passed failed error } }
    }
    replying: simulationChats(first: 5, filter: { statuses: [Replying] }) { nodes { id createdAt agent { id name channel direction } } }
    campaigns(first: 10, filter: { statuses: [Running] }) {
      nodes { id name agent { id name } counts { total pending calling processingResult processed error } }
    }
    simulationChats(first: 5) {
      totalCount
      nodes { id createdAt agent { id name } lastMessage @include(if: $seesMessages) { sequence text } }
    }
  }
`);

export type HomeData = ResultOf<typeof HomeQuery>;
export type RedTest = HomeData["red"]["nodes"][number];
export type AgentOfHome = HomeData["agents"]["nodes"][number];
