import { Link, useParams, useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../api/graphql";
import { usePage } from "../api/page";
import { plural } from "../ui/format";
import { Page } from "../ui/Page";
import { Empty, Failure, Loading, Shown } from "../ui/states";
import styles from "./KnowledgeBaseChat.module.css";

const KnowledgeBaseChatQuery = graphql(`
  query KnowledgeBaseChat($id: ID!) {
    knowledgeBaseChat(id: $id) {
      id name connectedAgentCount
      datasets { id name documentCount }
      promptSettings { topN similarityThreshold keywordsSimilarityWeight rerankModel showQuote emptyResponse }
    }
  }
`);

const RetrieveQuery = graphql(`
  query Retrieve($id: ID!, $question: String!) {
    knowledgeBaseChat(id: $id) {
      id
      retrieve(question: $question) { position content score termSimilarity vectorSimilarity document { id name dataset { id name } } }
    }
  }
`);

type Found = NonNullable<ResultOf<typeof RetrieveQuery>["knowledgeBaseChat"]>["retrieve"][number];

/** A knowledge base chat, and what it finds for a question, in the same way as in conversations. */
export default function KnowledgeBaseChat() {
  const { id = "" } = useParams<{ id: string }>();
  const [params, setParams] = useSearchParams();
  const question = params.get("q") ?? "";
  const answer = usePage(KnowledgeBaseChatQuery, { id });
  return (
    <Shown answer={answer} missing={`knowledge base chat ${id}`}>
      {({ knowledgeBaseChat: chat }) =>
        chat && (
          <Page
            title={chat.name}
            crumbs={[{ to: "/knowledge", text: "Knowledge" }]}
            facts={`connected with ${plural(chat.connectedAgentCount, "agent")}`}
          >
            <p className="row">
              {chat.datasets.map((dataset) => (
                <Link key={dataset.id} href={`/knowledge/datasets/${dataset.id}`}>
                  {dataset.name} ({plural(dataset.documentCount, "document")})
                </Link>
              ))}
              {chat.datasets.length === 0 && <span className="note warn">It has no datasets, so it finds nothing.</span>}
            </p>
            <form
              className="card"
              onSubmit={(event) => {
                event.preventDefault();
                const asked = String(new FormData(event.currentTarget).get("q")).trim();
                setParams(asked ? { q: asked } : {});
              }}
            >
              <div className="body stack">
                <div className="field">
                  <label htmlFor="q">What would a contact ask?</label>
                  <input id="q" name="q" key={question} defaultValue={question} placeholder="Can I use vinegar to descale the kettle?" maxLength={10_000} />
                </div>
                <div className="row">
                  <button type="submit" className="primary">
                    Ask
                  </button>
                  <span className="muted small">
                    at most {chat.promptSettings.topN} chunks, from a score of {chat.promptSettings.similarityThreshold}; words weigh{" "}
                    {chat.promptSettings.keywordsSimilarityWeight}
                    {chat.promptSettings.rerankModel && `, ranked again by ${chat.promptSettings.rerankModel}`}
                  </span>
                </div>
              </div>
            </form>
            {question && <Answers id={chat.id} question={question} threshold={chat.promptSettings.similarityThreshold} />}
          </Page>
        )
      }
    </Shown>
  );
}

function Answers({ id, question, threshold }: { id: string; question: string; threshold: number }) {
  const answer = usePage(RetrieveQuery, { id, question });
  const found = answer.data?.knowledgeBaseChat?.retrieve;
  if (answer.error) return <Failure error={answer.error} retry={answer.refresh} />;
  if (!found) return <Loading />;
  if (found.length === 0) {
    return <Empty title="Nothing is found.">No chunk reaches the score of {threshold}. Ask in the words of the documents, or add a document that answers it.</Empty>;
  }
  const words = new Set(question.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu));
  return (
    <ol className="stack" aria-label="What is found, best first">
      {found.map((chunk, i) => (
        <li key={`${chunk.document.id} ${chunk.position}`} className="card">
          <header>
            <strong>{i + 1}</strong>
            <Score chunk={chunk} />
            <span className="push">
              <Link href={`/knowledge/documents/${chunk.document.id}`}>{chunk.document.name}</Link>, chunk {chunk.position + 1}
              <span className="muted"> · {chunk.document.dataset.name}</span>
            </span>
          </header>
          <p className={`body ${styles.content}`}>
            {chunk.content.split(/([\p{L}\p{N}]+)/u).map((part, at) => (words.has(part.toLowerCase()) ? <mark key={at}>{part}</mark> : part))}
          </p>
        </li>
      ))}
    </ol>
  );
}

function Score({ chunk }: { chunk: Found }) {
  return (
    <span className="row tight">
      <meter min={0} max={1} value={chunk.score} aria-label="Score" />
      <span className={styles.score}>{chunk.score.toFixed(3)}</span>
      <span className="muted small">
        words {chunk.termSimilarity.toFixed(3)} · {chunk.vectorSimilarity === null ? "meaning not compared" : `meaning ${chunk.vectorSimilarity.toFixed(3)}`}
      </span>
    </span>
  );
}
