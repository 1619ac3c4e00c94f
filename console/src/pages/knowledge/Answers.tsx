import { Link, useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../../api/graphql";
import { usePage } from "../../api/page";
import { Empty, Failure, Loading } from "../../ui/states";
import { RightAnswer } from "./RightAnswer";
import styles from "./Answers.module.css";

const RetrieveQuery = graphql(`
  query Retrieve($id: ID!, $question: String!, $settings: PromptSettingsInput, $belowThreshold: Int!) {
    knowledgeBaseChat(id: $id) {
      id
      retrieve(question: $question, settings: $settings, belowThreshold: $belowThreshold) {
        position content score termSimilarity vectorSimilarity isBelowThreshold
        matchedTerms { word weight credit }
        document { id name dataset { id name } }
      }
    }
  }
`);

/** How many of the best chunks below the threshold are shown as well. */
const belowThreshold = 5;

type Found = NonNullable<ResultOf<typeof RetrieveQuery>["knowledgeBaseChat"]>["retrieve"][number];

/** The settings of the chat that are tried for this question. */
interface Tried {
  similarityThreshold?: number;
  keywordsSimilarityWeight?: number;
  topN?: number;
}

/** The results of a question, best first, and below them the chunks under the threshold. */
export function Answers({ id, question, settings, threshold }: { id: string; question: string; settings: Tried; threshold: number }) {
  const answer = usePage(RetrieveQuery, { id, question, settings, belowThreshold });
  const found = answer.data?.knowledgeBaseChat?.retrieve;
  if (answer.error) return <Failure error={answer.error} retry={answer.refresh} />;
  if (!found) return <Loading />;
  const told = found.filter((chunk) => !chunk.isBelowThreshold);
  const missed = found.filter((chunk) => chunk.isBelowThreshold);
  return (
    <>
      {told.length === 0 ? (
        <Empty title="No results.">No chunk has the minimum score, {threshold}. Use the words of the documents, or add a document that answers the question.</Empty>
      ) : (
        <Chunks question={question} chunks={told} label="Results, best first" />
      )}
      {missed.length > 0 && (
        <>
          <h2>Below {threshold}: not used in conversations</h2>
          <Lower score={missed[0]?.score ?? 0} />
          <Chunks question={question} chunks={missed} label="Results below the minimum, best first" />
        </>
      )}
    </>
  );
}

/** Words with less weight, such as "the", are not marked, so that the decisive words stand out. */
const leastWeight = 0.05;

function isTold({ matchedTerms }: Found, part: string): boolean {
  return matchedTerms.some(({ word, weight }) => weight >= leastWeight && word === part.toLowerCase());
}

/** Tries the highest threshold that includes the best of these chunks. */
function Lower({ score }: { score: number }) {
  const [params, setParams] = useSearchParams();
  const lower = Math.floor(score * 100) / 100;
  if (score <= 0) return null;
  return (
    <p className="row small">
      <span className="muted">They contain too few of the question&apos;s words.</span>
      <button type="button" className="plain" onClick={() => setParams({ ...Object.fromEntries(params), similarityThreshold: String(lower) })}>
        Try a minimum score of {lower}
      </button>
    </p>
  );
}

function Chunks({ question, chunks, label }: { question: string; chunks: Found[]; label: string }) {
  return (
    <ol className="stack" aria-label={label}>
      {chunks.map((chunk, i) => (
        <li key={`${chunk.document.id} ${chunk.position}`} className="card">
          <header>
            <strong>{i + 1}</strong>
            <Score chunk={chunk} />
            <span className="push">
              <Link href={`/knowledge/documents/${chunk.document.id}?chunk=${chunk.position + 1}`}>{chunk.document.name}</Link>, chunk {chunk.position + 1}
              <span className="muted"> · {chunk.document.dataset.name}</span>
            </span>
          </header>
          <p className={`body ${styles.content}`}>
            {chunk.content.split(/([\p{L}\p{N}]+)/u).map((part, at) => (isTold(chunk, part) ? <mark key={at}>{part}</mark> : part))}
          </p>
          <p className={`muted small ${styles.words}`}>
            {chunk.matchedTerms.length === 0
              ? "It contains no word of the question."
              : `Words: ${chunk.matchedTerms.map(({ word, weight, credit }) => `${word} ${weight.toFixed(2)}${credit < 1 ? ` × ${credit.toFixed(2)}, for a similar word` : ""}`).join(" · ")}`}
          </p>
          <div className={styles.words}>
            <RightAnswer question={question} documentId={chunk.document.id} passage={chunk.content} />
          </div>
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
