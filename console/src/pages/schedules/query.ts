import { graphql, type ResultOf } from "../../api/graphql";

export const SchedulesQuery = graphql(`
  query Schedules($agentId: ID) {
    agentTestSchedules(agentId: $agentId, first: 100) {
      totalCount
      nodes {
        id name agentId folderId testIds repeats stopRepeating { good bad } cron timeZone afterPromptChange isEnabled disabledReason baselineId nextRunAt lastError lastFailedAt
        agent { id name }
        folder { id name }
        lastExecution { id status verdict finishedAt counts { total passed failed error } }
      }
    }
  }
`);

export type Schedule = ResultOf<typeof SchedulesQuery>["agentTestSchedules"]["nodes"][number];
