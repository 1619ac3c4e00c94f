import { Fragment, lazy, Suspense, useState, type FormEvent } from "react";
import { Link, useLocation, useParams, useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../api/graphql";
import { useAction, useConflict, useHere, usePage } from "../api/page";
import { Act } from "../ui/Act";
import { plural } from "../ui/format";
import { Page } from "../ui/Page";
import { Failure, Shown } from "../ui/states";
import { Answers } from "./knowledge/Answers";
import styles from "./KnowledgeBaseChat.module.css";

const Settings = lazy(() => import("./knowledge/KnowledgeBaseChatSettings"));
const Evaluation = lazy(() => import("./knowledge/Evaluation"));

const KnowledgeBaseChatQuery = graphql(`
  query KnowledgeBaseChat($id: ID!) {
    knowledgeBaseChat(id: $id) {
      id name connectedAgentCount createdAt updatedAt
      datasets { id name documentCount }
      agents(first: 20) { nodes { id name } }
      promptSettings { topN similarityThreshold keywordsSimilarityWeight rerankModel showQuote emptyResponse }
    }
  }
`);

const KeepTrial = graphql(`
  mutation KeepTrial($input: UpdateKnowledgeBaseChatInput!) {
    updateKnowledgeBaseChat(input: $input) {
      knowledgeBaseChat { id updatedAt promptSettings { topN similarityThreshold keywordsSimilarityWeight rerankModel showQuote emptyResponse } }
    }
  }
`);

type ChatOfPage = NonNullable<ResultOf<typeof KnowledgeBaseChatQuery>["knowledgeBaseChat"]>;

/** The settings that can be tried, by the name of their parameter in the address. */
const trials = {
  similarityThreshold: { label: "Minimum score", min: 0, max: 1 },
  keywordsSimilarityWeight: { label: "Keyword weight", min: 0, max: 1 },
  topN: { label: "Maximum chunks", min: 1, max: 100 },
} as const;
type Trial = Record<keyof typeof trials, number>;
const names = Object.keys(trials) as (keyof Trial)[];

/** A knowledge base chat, and its results for a question, found as in conversations. */
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
            facts={<Connected chat={chat} />}
            actions={
              <>
                <Act scope="write" onClick={() => setEditing(true)}>
                  Settings
                </Act>
                <ChatWithIt agents={chat.agents.nodes} />
              </>
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
            <Question chat={chat} question={question} tried={tried} reread={answer.refresh} />
            {question && (
              <Answers
                // Results of another question, or of other settings or datasets, must not be mistaken for the current ones.
                key={JSON.stringify([question, tried, chat.promptSettings, chat.datasets])}
                id={chat.id}
                question={question}
                settings={tried}
                threshold={tried.similarityThreshold ?? chat.promptSettings.similarityThreshold}
              />
            )}
            {chat.datasets.length > 0 && (
              <Suspense>
                <Evaluation key={JSON.stringify([tried, chat.promptSettings, chat.datasets])} chatId={chat.id} datasets={chat.datasets} tried={tried} />
              </Suspense>
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

/** The agents that are connected to the chat. */
function Connected({ chat }: { chat: ChatOfPage }) {
  const others = chat.connectedAgentCount - chat.agents.nodes.length;
  if (chat.connectedAgentCount === 0) {
    return (
      <span>
        not connected to an agent: <Link href="/agents">choose one</Link> and connect it there
      </span>
    );
  }
  return (
    <span>
      connected to{" "}
      {chat.agents.nodes.map((agent, i) => (
        <Fragment key={agent.id}>
          {i > 0 && ", "}
          <Link href={`/agents/${agent.id}/connections`}>{agent.name}</Link>
        </Fragment>
      ))}
      {others > 0 && ` and ${others} more`}
    </span>
  );
}

/** Starts a chat with a connected agent, because a knowledge base chat has no conversations without one. */
function ChatWithIt({ agents }: { agents: ChatOfPage["agents"]["nodes"] }) {
  const [, go] = useLocation();
  const [only, ...others] = agents;
  if (!only) return null;
  if (others.length === 0) {
    return (
      <Link className="button primary" href={`/chats/new?agent=${only.id}`}>
        New chat
      </Link>
    );
  }
  return (
    <select aria-label="New chat with" value="" onChange={(event) => go(`/chats/new?agent=${event.target.value}`)}>
      <option value="">New chat with…</option>
      {agents.map((agent) => (
        <option key={agent.id} value={agent.id}>
          {agent.name}
        </option>
      ))}
    </select>
  );
}

interface QuestionProps {
  chat: ChatOfPage;
  question: string;
  tried: Partial<Trial>;
}

/** Asks a question, with the chat's settings or with others. */
function Question({ chat, question, tried, reread }: QuestionProps & { reread: () => void }) {
  const [, setParams] = useSearchParams();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const asked = String(form.get("q")).trim();
    const changed = names.filter((name) => form.get(name) !== "" && Number(form.get(name)) !== chat.promptSettings[name]);
    setParams(asked ? { q: asked, ...Object.fromEntries(changed.map((name) => [name, String(form.get(name))])) } : {});
  };
  return (
    <form className="card" onSubmit={submit}>
      <div className="body stack">
        <div className="field">
          <label htmlFor="q">Question from a contact</label>
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
        <Tried chat={chat} question={question} tried={tried} reread={reread} />
      </div>
    </form>
  );
}

/** The settings that are tried, and a button that saves them. */
function Tried({ chat, question, tried, reread }: QuestionProps & { reread: () => void }) {
  const [, setParams] = useSearchParams();
  const keep = useAction(KeepTrial);
  const isHere = useHere();
  const isForeign = useConflict(keep.error, reread);
  const isTried = Object.keys(tried).length > 0;
  const save = async () => {
    const input = { chatId: chat.id, promptSettings: tried, expectedUpdatedAt: chat.updatedAt ?? chat.createdAt };
    if ((await keep.run({ input })) && isHere.current) setParams({ q: question });
  };
  const differences = names
    .filter((name) => name in tried)
    .map((name) => `${trials[name].label.toLowerCase()} ${tried[name]} instead of ${chat.promptSettings[name]}`)
    .join(", ");
  return (
    <>
      <div className="row muted small">
        <span>
          {isTried ? `Not saved: ${differences}.` : "Saved settings. Changes here are tried, not saved."}
          {chat.promptSettings.rerankModel && ` Reranked by ${chat.promptSettings.rerankModel}.`}
        </span>
        {isTried && (
          <Act scope="write" disabled={keep.isBusy} onClick={() => void save()}>
            Save these settings
          </Act>
        )}
      </div>
      {isForeign && (
        <p className="note warn" role="alert">
          Somebody else changed this knowledge base chat after you opened it. The current settings are shown above. If you still want your changes, make them again.
        </p>
      )}
      {keep.error && !isForeign && <Failure error={keep.error} />}
    </>
  );
}
