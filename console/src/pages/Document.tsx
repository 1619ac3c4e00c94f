import { useParams, useSearchParams } from "wouter";
import { graphql } from "../api/graphql";
import { usePage } from "../api/page";
import { plural, size } from "../ui/format";
import { Page } from "../ui/Page";
import { Empty, Shown } from "../ui/states";
import { Status } from "../ui/Status";
import styles from "./Document.module.css";

const DocumentQuery = graphql(`
  query Document($id: ID!, $first: Int!, $after: String) {
    document(id: $id) {
      id name status error warning size contentType chunkCount
      dataset { id name }
      chunks(first: $first, after: $after) { totalCount pageInfo { hasNextPage endCursor } nodes { id position tokens content } }
    }
  }
`);

/** A document, chunk by chunk. */
export default function Document() {
  const { id = "" } = useParams<{ id: string }>();
  const [params, setParams] = useSearchParams();
  const answer = usePage(DocumentQuery, { id, first: 50, after: params.get("after") });
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
              {document.chunks.nodes.map((chunk) => (
                <li key={chunk.id} id={`chunk-${chunk.position + 1}`} className="card">
                  <header className="muted small">
                    Chunk {chunk.position + 1} · {plural(chunk.tokens, "token")}
                  </header>
                  <p className={`body ${styles.content}`}>{chunk.content}</p>
                </li>
              ))}
            </ol>
            {document.chunks.pageInfo.hasNextPage && (
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
