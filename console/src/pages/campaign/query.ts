import { graphql, type ResultOf } from "../../api/graphql";

export const CampaignQuery = graphql(`
  query Campaign($id: ID!, $first: Int, $after: String, $last: Int, $before: String, $status: CampaignItemStatus, $filter: CampaignItemFilter) {
    campaign(id: $id) {
      id name status maxAttempts retryDelayMinutes defaultRegion itemVersion
      agent { id name channel }
      fields { name isMandatory isSystem }
      counts { total pending calling processingResult processed error }
      items(first: $first, after: $after, last: $last, before: $before, runningStatus: $status, isArchived: false, filter: $filter) {
        totalCount
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
        nodes { id runningStatus phoneNumber attemptCount lastCallDate nextTryDate error version result { summary tag { name color } } }
      }
    }
  }
`);

export type CampaignOfPage = NonNullable<ResultOf<typeof CampaignQuery>["campaign"]>;
export type ItemOfPage = CampaignOfPage["items"]["nodes"][number];
