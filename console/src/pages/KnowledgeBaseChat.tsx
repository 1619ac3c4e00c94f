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

/** The settings that can be tried, by the name of their parameter in the address. */
const trials = {
  similarityThreshold: { label: "Score from", min: 0, max: 1 },
  keywordsSimilarityWeight: { label: "Words weigh", min: 0, max: 1 },
  topN: { label: "Chunks at most", min: 1, max: 100 },
} as const;
type Trial = Record<keyof typeof trials, number>;
const names = Object.keys(trials) as (keyof Trial)[];

type Found = NonNullable<ResultOf<typeof RetrieveQuery>["knowledgeBaseChat"]>["retrieve"][number];

/** A knowledge base chat, and what it finds for a question, in the same way as in conversations. */
export default function KnowledgeBaseChat() {
  const { id = "" } = useParams<{ id: string }>();
  const [params, setParams] = useSearchParams();
  const question = params.get("q") ?? "";
  const answer = usePage(KnowledgeBaseChatQuery, { id });
  const tried = Object.fromEntries(names.filter((name) => params.get(name)).map((name) => [name, Number(params.get(name))])) as Partial<Trial>;
  const ask = (form: FormData, saved: Trial) => {
    const asked = String(form.get("q")).trim();
    const changed = names.filter((name) => form.get(name) !== "" && Number(form.get(name)) !== saved[name]);
    setParams(asked ? { q: asked, ...Object.fromEntries(changed.map((name) => [name, String(form.get(name))])) } : {});
  };
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
                ask(new FormData(event.currentTarget), chat.promptSettings);
              }}
            >
              <div className="body stack">
                <div className="field">
                  <label htmlFor="q">What would a contact ask?</label>
                  <input id="q" name="q" key={question} defaultValue={question} placeholder="Can I use vinegar to descale the kettle?" maxLength={10_000} />
                </div>
                <div className="row">
                  {names.map((name) => (
                    <label key={`${name} ${tried[name]}`} className="row tight">
                      {trials[name].label}
                      <input
                        type="number"
                        name={name}
                        defaultValue={tried[name] ?? chat.promptSettings[name]}
                        min={trials[name].min}
                        max={trials[name].max}
                        step={name === "topN" ? 1 : "any"}
                        className={styles.trial}
                      />
                    </label>
                  ))}
                  <button type="submit" className="primary">
                    Ask
                  </button>
                </div>
                <p className="muted small">
                  {Object.keys(tried).length > 0
                    ? `Tried, not saved: ${names.filter((name) => name in tried).map((name) => `${trials[name].label.toLowerCase()} ${tried[name]} for ${chat.promptSettings[name]}`).join(", ")}.`
                    : "As conversations ask. Other numbers are tried, not saved."}
                  {chat.promptSettings.rerankModel && ` Ranked again by ${chat.promptSettings.rerankModel}.`}
                </p>
              </div>
            </form>
            {question && <Answers id={chat.id} question={question} settings={tried} threshold={tried.similarityThreshold ?? chat.promptSettings.similarityThreshold} />}
          </Page>
        )
      }
    </Shown>
  );
}

function Answers({ id, question, settings, threshold }: { id: string; question: string; settings: Partial<Trial>; threshold: number }) {
  const answer = usePage(RetrieveQuery, { id, question, settings, belowThreshold });
  const found = answer.data?.knowledgeBaseChat?.retrieve;
  if (answer.error) return <Failure error={answer.error} retry={answer.refresh} />;
  if (!found) return <Loading />;
  const told = found.filter((chunk) => !chunk.isBelowThreshold);
  const missed = found.filter((chunk) => chunk.isBelowThreshold);
  return (
    <>
      {told.length === 0 ? (
        <Empty title="Nothing is found.">No chunk reaches the score of {threshold}. Ask in the words of the documents, or add a document that answers it.</Empty>
      ) : (
        <Chunks chunks={told} label="What is found, best first" />
      )}
      {missed.length > 0 && (
        <>
          <h2>Below {threshold}: conversations do not see these</h2>
          <Chunks chunks={missed} label="What is below the threshold, best first" />
        </>
      )}
    </>
  );
}

function Chunks({ chunks, label }: { chunks: Found[]; label: string }) {
  return (
    <ol className="stack" aria-label={label}>
      {chunks.map((chunk, i) => (
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
            {chunk.content
              .split(/([\p{L}\p{N}]+)/u)
              .map((part, at) => (chunk.matchedTerms.some(({ word }) => word === part.toLowerCase()) ? <mark key={at}>{part}</mark> : part))}
          </p>
          <p className="body muted small">
            {chunk.matchedTerms.length === 0
              ? "It holds no word of the question."
              : `Words: ${chunk.matchedTerms.map(({ word, weight, credit }) => `${word} ${weight.toFixed(2)}${credit < 1 ? ` × ${credit.toFixed(2)}, for a word like it` : ""}`).join(" · ")}`}
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
