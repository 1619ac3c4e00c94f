import { graphql, type ResultOf } from "../../api/graphql";

export const DocumentsQuery = graphql(`
  query Documents($datasetId: ID!, $first: Int, $after: String, $last: Int, $before: String) {
    dataset(id: $datasetId) {
      id name description chunkMethod language documentCount chunkCount createdAt updatedAt
      parserConfig { chunkTokenNum layoutRecognize delimiter taskPageSize }
      documents(first: $first, after: $after, last: $last, before: $before) {
        totalCount
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
        nodes { id name size status error warning chunkCount createdAt indexedAt }
      }
    }
  }
`);

export type DatasetOfPage = NonNullable<ResultOf<typeof DocumentsQuery>["dataset"]>;
