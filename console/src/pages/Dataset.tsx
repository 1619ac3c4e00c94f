import { useState } from "react";
import { Link, useParams, useSearchParams } from "wouter";
import { graphql } from "../api/graphql";
import { useReconnected } from "../api/live";
import { useAction, usePage } from "../api/page";
import { withoutOverrides } from "../logic/names";
import { Act } from "../ui/Act";
import { ask } from "../ui/asking";
import { count, plural, size } from "../ui/format";
import { Page } from "../ui/Page";
import { pageAt, Pager } from "../ui/Pager";
import { Empty, Failure, Shown } from "../ui/states";
import { Status } from "../ui/Status";
import { Time } from "../ui/Time";
import { useRepeat } from "../ui/useRepeat";
import { DatasetSettings } from "./knowledge/DatasetSettings";
import { useDocumentUpdates } from "./knowledge/live";
import { DocumentsQuery, type DatasetOfPage } from "./knowledge/query";
import { Upload } from "./knowledge/Upload";

const ReindexDataset = graphql(`
  mutation ReindexDataset($input: ReindexDatasetInput!) {
    reindexDataset(input: $input) { dataset { id } }
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

type DocumentRow = DatasetOfPage["documents"]["nodes"][number];

/** The transient states of a document. */
const underWay: readonly string[] = ["Pending", "Indexing"];

/** The delay before the list is read again for data that events lack, in milliseconds. */
const readAgain = 2_000;
/** How often the list is read during indexing, in milliseconds. An event may have preceded the subscription. */
const lookAgain = 15_000;

/** A dataset's documents with the state of their indexing, live, and an area to upload more. */
export default function Dataset() {
  const { id = "" } = useParams<{ id: string }>();
  const [params] = useSearchParams();
  const answer = usePage(DocumentsQuery, { datasetId: id, ...pageAt(params, 50) }, { keeps: true });
  useRows(id, answer.data?.dataset?.documents.nodes ?? [], answer.refresh);
  const reindex = useAction(ReindexDataset);
  const [isEditing, setEditing] = useState(false);
  const indexAll = async (name: string) => {
    if (!(await ask({ title: `Reindex ${name}?`, text: "All its documents are read again. Agents search the current index until this is done.", verb: "Reindex" }))) return;
    await reindex.run({ input: { datasetId: id } });
    answer.refresh();
  };
  return (
    <Shown answer={answer} missing={`dataset ${id}`}>
      {({ dataset }) =>
        dataset && (
          <Page
            title={dataset.name}
            crumbs={[{ to: "/knowledge", text: "Knowledge" }]}
            facts={`${dataset.chunkMethod} · ${dataset.language === "auto" ? "any language" : (new Intl.DisplayNames(["en"], { type: "language" }).of(dataset.language) ?? dataset.language)} · ${plural(dataset.documentCount, "document")} · ${plural(dataset.chunkCount, "chunk")}`}
            actions={
              <>
                <Act scope="write" disabled={dataset.documentCount === 0 || reindex.isBusy} onClick={() => indexAll(dataset.name)}>
                  Reindex all
                </Act>
                <Act scope="write" onClick={() => setEditing(true)}>
                  Settings
                </Act>
              </>
            }
          >
            {reindex.error && <Failure error={reindex.error} />}
            {dataset.description && <p className="muted">{dataset.description}</p>}
            <Upload datasetId={dataset.id} onAdded={answer.refresh} />
            {dataset.documents.nodes.length === 0 ? (
              <Empty title="No documents yet.">Drop PDF, Word, Excel, PowerPoint, EPUB, e-mail, Markdown, HTML, CSV or text files above.</Empty>
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
                      <th scope="col" className="number wide">
                        Chunks
                      </th>
                      <th scope="col" className="wide">
                        Added
                      </th>
                      <th scope="col" className="wide">
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
            <Pager of={dataset.documents} size={50} isOld={answer.isOld} />
            {isEditing && <DatasetSettings dataset={dataset} onClose={() => setEditing(false)} reread={answer.refresh} />}
          </Page>
        )
      }
    </Shown>
  );
}

/** Events update the rows of their documents. New documents, and the sums of the dataset, are read again after an event. */
function useRows(datasetId: string, documents: readonly DocumentRow[], refresh: () => void): void {
  const [isStale, setStale] = useState(false);
  useDocumentUpdates(datasetId, ({ id, status }) => {
    if (!underWay.includes(status) || !documents.some((document) => document.id === id)) setStale(true);
  });
  const reread = () => {
    setStale(false);
    refresh();
  };
  useRepeat(reread, readAgain, isStale);
  useRepeat(refresh, lookAgain, documents.some(({ status }) => underWay.includes(status)));
  useReconnected(refresh);
}

function Row({ document, refresh }: { document: DocumentRow; refresh: () => void }) {
  const reindex = useAction(ReindexDocument);
  const remove = useAction(DeleteDocument);
  const error = reindex.error ?? remove.error;
  const destroy = async () => {
    if (!(await ask({ title: `Delete ${document.name}?`, text: "Agents no longer find anything in it.", verb: "Delete document", isDangerous: true }))) return;
    await remove.run({ input: { documentId: document.id } });
    refresh();
  };
  const actions = (
    <div className="row">
      <Act scope="write" className="plain" disabled={reindex.isBusy} onClick={() => void reindex.run({ input: { documentId: document.id } }).then(refresh)}>
        Reindex<span className="unseen"> {document.name}</span>
      </Act>
      <Act
        scope="write"
        className="plain"
        disabled={remove.isBusy}
        onClick={() => void destroy()}
      >
        Delete<span className="unseen"> {document.name}</span>
      </Act>
    </div>
  );
  return (
    <tr data-go>
      <th scope="row">
        <Link href={`/knowledge/documents/${document.id}`}>{withoutOverrides(document.name)}</Link>
        {document.error && <div className="note bad small">{document.error}</div>}
        {document.warning && <div className="note warn small">{document.warning}</div>}
        {error && <Failure error={error} />}
        <div className="narrow small">{actions}</div>
      </th>
      <td>
        <Status of={document.status} />
      </td>
      <td className="number wide">{size(document.size)}</td>
      <td className="number wide">{count(document.chunkCount)}</td>
      <td className="wide">
        <Time at={document.createdAt} />
      </td>
      <td className="wide">{actions}</td>
    </tr>
  );
}
