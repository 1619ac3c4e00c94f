import { useSubscription } from "urql";
import { graphql, type ResultOf } from "../../api/graphql";

const DocumentUpdates = graphql(`
  subscription DocumentUpdates($datasetId: ID!) {
    documentUpdated(datasetId: $datasetId) { id name size status error warning chunkCount indexedAt }
  }
`);

type Changed = ResultOf<typeof DocumentUpdates>["documentUpdated"];

/** Follows the documents of a dataset, and calls back for each that is new or changes. */
export function useDocumentUpdates(datasetId: string | undefined, onChange: (document: Changed) => void): void {
  useSubscription({ query: DocumentUpdates, variables: { datasetId: datasetId ?? "" }, pause: !datasetId }, (_, event) => {
    onChange(event.documentUpdated);
    return event;
  });
}
