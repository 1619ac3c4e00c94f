import { useEffect } from "react";
import { useParams, useSearchParams } from "wouter";
import { graphql } from "../api/graphql";
import { usePage } from "../api/page";
import { plural, size } from "../ui/format";
import { Page } from "../ui/Page";
import { Empty, Shown } from "../ui/states";
import { Status } from "../ui/Status";
import styles from "./Document.module.css";
import { useDocumentUpdates } from "./knowledge/live";

const DocumentQuery = graphql(`
  query Document($id: ID!, $first: Int!, $after: String, $offset: Int) {
    document(id: $id) {
      id name status error warning size contentType chunkCount
      dataset { id name }
      chunks(first: $first, after: $after, offset: $offset) { totalCount pageInfo { hasNextPage endCursor } nodes { id position tokens content } }
    }
  }
`);

const pageSize = 50;

/** The largest offset that the API accepts. Later chunks are reached by cursors. */
const maxOffset = 10_000;

/** A document, chunk by chunk, from the chunk that the address names. Its state is live. */
export default function Document() {
  const { id = "" } = useParams<{ id: string }>();
  const [params, setParams] = useSearchParams();
  const chunk = Number(params.get("chunk") ?? 0);
  const offset = chunk > 0 ? Math.min(Math.floor((chunk - 1) / pageSize) * pageSize, maxOffset) : undefined;
  const answer = usePage(DocumentQuery, { id, first: pageSize, after: params.get("after"), offset }, { keeps: true });
  useDocumentUpdates(answer.data?.document?.dataset.id, (changed) => {
    if (changed.id === id && changed.status === "Ready") answer.refresh();
  });
  useChunk(chunk, answer.data !== undefined && !answer.isOld);
  return (
    <Shown answer={answer} missing={`document ${id}`}>
      {({ document }) =>
        document && (
          <Page
            title={document.name}
            crumbs={[
              { to: "/knowledge", text: "Knowledge" },
              { to: `/knowledge/datasets/${document.dataset.id}`, text: document.dataset.name },
            ]}
            facts={
              <>
                <Status of={document.status} />
                {size(document.size)} · {plural(document.chunkCount, "chunk")}
              </>
            }
          >
            {document.error && <p className="note bad">{document.error}</p>}
            {document.warning && <p className="note warn">{document.warning}</p>}
            {document.chunks.nodes.length === 0 && <Empty title="No chunks.">It is not indexed yet, or there is no text in it.</Empty>}
            <ol className="stack">
              {document.chunks.nodes.map((each) => (
                <li key={each.id} id={`chunk-${each.position + 1}`} className="card" aria-current={chunk === each.position + 1 ? "true" : undefined}>
                  <header className="muted small">
                    Chunk {each.position + 1} · {plural(each.tokens, "token")}
                  </header>
                  <p className={`body ${styles.content}`}>{each.content}</p>
                </li>
              ))}
            </ol>
            {document.chunks.pageInfo.hasNextPage && !answer.isOld && (
              <div>
                <button type="button" onClick={() => setParams({ after: document.chunks.pageInfo.endCursor ?? "" })}>
                  Next 50 chunks
                </button>
              </div>
            )}
          </Page>
        )
      }
    </Shown>
  );
}

/** Scrolls to a chunk once it is there. */
function useChunk(chunk: number, isRead: boolean): void {
  useEffect(() => {
    if (chunk > 0 && isRead) window.document.getElementById(`chunk-${chunk}`)?.scrollIntoView({ block: "center" });
  }, [chunk, isRead]);
}
