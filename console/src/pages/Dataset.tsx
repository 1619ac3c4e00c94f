import { useEffect, useEffectEvent } from "react";
import { Link, useParams, useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../api/graphql";
import { useAction, usePage } from "../api/page";
import { Act } from "../ui/Act";
import { count, plural, size } from "../ui/format";
import { Page } from "../ui/Page";
import { Empty, Failure, Shown } from "../ui/states";
import { Status } from "../ui/Status";
import { Time } from "../ui/Time";
import { Upload } from "./knowledge/Upload";

const DocumentsQuery = graphql(`
  query Documents($datasetId: ID!, $first: Int!, $after: String) {
    dataset(id: $datasetId) {
      id name description chunkMethod documentCount chunkCount
      documents(first: $first, after: $after) {
        totalCount
        pageInfo { hasNextPage endCursor }
        nodes { id name size status error warning chunkCount createdAt indexedAt }
      }
    }
  }
`);

const ReindexDocument = graphql(`
  mutation ReindexDocument($input: ReindexDocumentInput!) {
    reindexDocument(input: $input) { document { id status error warning } }
  }
`);

const DeleteDocument = graphql(`
  mutation DeleteDocument($input: DeleteDocumentInput!) {
    deleteDocument(input: $input) { deletedId }
  }
`);

type DatasetOfPage = NonNullable<ResultOf<typeof DocumentsQuery>["dataset"]>;
type DocumentRow = DatasetOfPage["documents"]["nodes"][number];

/** The delay before the page looks again at documents that are being indexed, in milliseconds. */
const lookAgain = 2_000;

/** A dataset's documents with the state of their indexing, and an area to upload more. */
export default function Dataset() {
  const { id = "" } = useParams<{ id: string }>();
  const [params, setParams] = useSearchParams();
  const answer = usePage(DocumentsQuery, { datasetId: id, first: 50, after: params.get("after") });
  const documents = answer.data?.dataset?.documents;
  const isWorking = documents?.nodes.some((document) => document.status === "Pending" || document.status === "Indexing") ?? false;
  useRepeat(answer.refresh, isWorking);
  return (
    <Shown answer={answer} missing={`dataset ${id}`}>
      {({ dataset }) =>
        dataset && (
          <Page
            title={dataset.name}
            crumbs={[{ to: "/knowledge", text: "Knowledge" }]}
            facts={`${dataset.chunkMethod} · ${plural(dataset.documentCount, "document")} · ${plural(dataset.chunkCount, "chunk")}`}
          >
            {dataset.description && <p className="muted">{dataset.description}</p>}
            <Upload datasetId={dataset.id} onAdded={answer.refresh} />
            {dataset.documents.nodes.length === 0 ? (
              <Empty title="No documents yet.">Drop files above: PDF, Word, Markdown, HTML, CSV, text.</Empty>
            ) : (
              <div className="card scroll">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">Document</th>
                      <th scope="col">Status</th>
                      <th scope="col" className="number wide">
                        Size
                      </th>
                      <th scope="col" className="number">
                        Chunks
                      </th>
                      <th scope="col" className="wide">
                        Added
                      </th>
                      <th scope="col">
                        <span className="unseen">Actions</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {dataset.documents.nodes.map((document) => (
                      <Row key={document.id} document={document} refresh={answer.refresh} />
                    ))}
                  </tbody>
                </table>
              </div>
            )}
            {dataset.documents.pageInfo.hasNextPage && (
              <div>
                <button type="button" onClick={() => setParams({ after: dataset.documents.pageInfo.endCursor ?? "" })}>
                  Next 50
                </button>
              </div>
            )}
          </Page>
        )
      }
    </Shown>
  );
}

function Row({ document, refresh }: { document: DocumentRow; refresh: () => void }) {
  const reindex = useAction(ReindexDocument);
  const remove = useAction(DeleteDocument);
  const error = reindex.error ?? remove.error;
  return (
    <tr>
      <th scope="row">
        <Link href={`/knowledge/documents/${document.id}`}>{document.name}</Link>
        {document.error && <div className="note bad small">{document.error}</div>}
        {document.warning && <div className="note warn small">{document.warning}</div>}
        {error && <Failure error={error} />}
      </th>
      <td>
        <Status of={document.status} />
      </td>
      <td className="number wide">{size(document.size)}</td>
      <td className="number">{count(document.chunkCount)}</td>
      <td className="wide">
        <Time at={document.createdAt} />
      </td>
      <td>
        <div className="row">
          <Act scope="write" className="plain" onClick={() => void reindex.run({ input: { documentId: document.id } }).then(refresh)}>
            Index again<span className="unseen"> {document.name}</span>
          </Act>
          <Act
            scope="write"
            className="plain"
            onClick={() => {
              if (confirm(`Delete ${document.name}? Agents no longer find anything in it.`)) void remove.run({ input: { documentId: document.id } }).then(refresh);
            }}
          >
            Delete<span className="unseen"> {document.name}</span>
          </Act>
        </div>
      </td>
    </tr>
  );
}

function useRepeat(action: () => void, isOn: boolean): void {
  const act = useEffectEvent(action);
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => act(), lookAgain);
    return () => clearInterval(timer);
  }, [isOn]);
}
