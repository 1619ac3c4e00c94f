import { lazy, Suspense, useState } from "react";
import { Link, useParams, useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../api/graphql";
import { useAction, usePage } from "../api/page";
import { Act } from "../ui/Act";
import { plural } from "../ui/format";
import { Page } from "../ui/Page";
import { Failure, Shown } from "../ui/states";
import { Answers } from "./knowledge/Answers";
import styles from "./KnowledgeBaseChat.module.css";

const Settings = lazy(() => import("./knowledge/KnowledgeBaseChatSettings"));

const KnowledgeBaseChatQuery = graphql(`
  query KnowledgeBaseChat($id: ID!) {
    knowledgeBaseChat(id: $id) {
      id name connectedAgentCount
      datasets { id name documentCount }
      promptSettings { topN similarityThreshold keywordsSimilarityWeight rerankModel showQuote emptyResponse }
    }
  }
`);

const KeepTrial = graphql(`
  mutation KeepTrial($input: UpdateKnowledgeBaseChatInput!) {
    updateKnowledgeBaseChat(input: $input) {
      knowledgeBaseChat { id promptSettings { topN similarityThreshold keywordsSimilarityWeight rerankModel showQuote emptyResponse } }
    }
  }
`);

type ChatOfPage = NonNullable<ResultOf<typeof KnowledgeBaseChatQuery>["knowledgeBaseChat"]>;

/** The settings that can be tried, by the name of their parameter in the address. */
const trials = {
  similarityThreshold: { label: "Score from", min: 0, max: 1 },
  keywordsSimilarityWeight: { label: "Words weigh", min: 0, max: 1 },
  topN: { label: "Chunks at most", min: 1, max: 100 },
} as const;
type Trial = Record<keyof typeof trials, number>;
const names = Object.keys(trials) as (keyof Trial)[];

/** A knowledge base chat, and what it finds for a question, in the same way as in conversations. */
export default function KnowledgeBaseChat() {
  const { id = "" } = useParams<{ id: string }>();
  const [params] = useSearchParams();
  const question = params.get("q") ?? "";
  const answer = usePage(KnowledgeBaseChatQuery, { id });
  const [isEditing, setEditing] = useState(false);
  const tried = Object.fromEntries(names.filter((name) => params.get(name)).map((name) => [name, Number(params.get(name))])) as Partial<Trial>;
  return (
    <Shown answer={answer} missing={`knowledge base chat ${id}`}>
      {({ knowledgeBaseChat: chat }) =>
        chat && (
          <Page
            title={chat.name}
            crumbs={[{ to: "/knowledge", text: "Knowledge" }]}
            facts={`connected with ${plural(chat.connectedAgentCount, "agent")}`}
            actions={
              <Act scope="write" onClick={() => setEditing(true)}>
                Settings
              </Act>
            }
          >
            <p className="row">
              {chat.datasets.map((dataset) => (
                <Link key={dataset.id} href={`/knowledge/datasets/${dataset.id}`}>
                  {dataset.name} ({plural(dataset.documentCount, "document")})
                </Link>
              ))}
              {chat.datasets.length === 0 && <span className="note warn">It has no datasets, so it finds nothing.</span>}
            </p>
            <Question chat={chat} question={question} tried={tried} />
            {question && (
              <Answers
                // Other settings and datasets find other chunks.
                key={JSON.stringify([chat.promptSettings, chat.datasets])}
                id={chat.id}
                question={question}
                settings={tried}
                threshold={tried.similarityThreshold ?? chat.promptSettings.similarityThreshold}
              />
            )}
            {isEditing && (
              <Suspense>
                <Settings id={chat.id} onClose={() => setEditing(false)} onSaved={answer.refresh} />
              </Suspense>
            )}
          </Page>
        )
      }
    </Shown>
  );
}

/** Asks a question, with the chat's settings or with others, which can be saved once they are right. */
function Question({ chat, question, tried }: { chat: ChatOfPage; question: string; tried: Partial<Trial> }) {
  const [, setParams] = useSearchParams();
  const keep = useAction(KeepTrial);
  const ask = (form: FormData) => {
    const asked = String(form.get("q")).trim();
    const changed = names.filter((name) => form.get(name) !== "" && Number(form.get(name)) !== chat.promptSettings[name]);
    setParams(asked ? { q: asked, ...Object.fromEntries(changed.map((name) => [name, String(form.get(name))])) } : {});
  };
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault();
        ask(new FormData(event.currentTarget));
      }}
    >
      <div className="body stack">
        <div className="field">
          <label htmlFor="q">What would a contact ask?</label>
          <input id="q" name="q" key={question} defaultValue={question} placeholder="Can I use vinegar to descale the kettle?" maxLength={10_000} />
        </div>
        <div className="row">
          {names.map((name) => (
            <label key={`${name} ${tried[name] ?? chat.promptSettings[name]}`} className="row tight">
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
        <div className="row muted small">
          <span>
            {Object.keys(tried).length > 0
              ? `Tried, not saved: ${names.filter((name) => name in tried).map((name) => `${trials[name].label.toLowerCase()} ${tried[name]} for ${chat.promptSettings[name]}`).join(", ")}.`
              : "As conversations ask. Other numbers are tried, not saved."}
            {chat.promptSettings.rerankModel && ` Ranked again by ${chat.promptSettings.rerankModel}.`}
          </span>
          {Object.keys(tried).length > 0 && (
            <Act
              scope="write"
              disabled={keep.isBusy}
              onClick={() => void keep.run({ input: { chatId: chat.id, promptSettings: tried } }).then((kept) => kept && setParams({ q: question }))}
            >
              Save these numbers
            </Act>
          )}
        </div>
        {keep.error && <Failure error={keep.error} />}
      </div>
    </form>
  );
}
