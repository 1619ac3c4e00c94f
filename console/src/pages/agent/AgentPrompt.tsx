import { lazy, Suspense, useEffect, useEffectEvent, useState } from "react";
import { useClient } from "urql";
import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import { unknownPlaceholders } from "../../logic/placeholders";
import { Act, may } from "../../ui/Act";
import { count } from "../../ui/format";
import { Failure, Loading } from "../../ui/states";
import type { AgentOfPage } from "../Agent";
import { AgentHealth } from "./AgentHealth";
import { PromptText } from "./PromptText";

const Diff = lazy(() => import("../../ui/Diff"));

const SavePrompt = graphql(`
  mutation SavePrompt($input: UpdateAgentPromptInput!) {
    updateAgentPrompt(input: $input) { agent { id prompt promptVersion updatedAt } }
  }
`);

const AddField = graphql(`
  mutation AddField($input: UpdateAgentInput!) {
    updateAgent(input: $input) { agent { id fields { name isMandatory isSystem } } }
  }
`);

const PromptNow = graphql(`
  query PromptNow($id: ID!) {
    agent(id: $id) { id prompt promptVersion }
  }
`);

const maxPrompt = 50_000;

/** An unsaved prompt, and the version that it began from. */
interface Draft {
  text: string;
  of: number;
}

/** An editor of the prompt, beside the state of its tests. */
export function AgentPrompt({ agent }: { agent: AgentOfPage }) {
  const [draft, setDraft] = useDraft(agent);
  const text = draft?.text ?? agent.prompt;
  const [isDiff, setDiff] = useState(false);
  const [isForeign, setForeign] = useState(false);
  const save = useAction(SavePrompt);
  const client = useClient();
  const isChanged = draft !== undefined && draft.text !== agent.prompt;
  const discard = () => {
    setDraft(undefined);
    setForeign(false);
    setDiff(false);
  };
  const store = async (isSure = false) => {
    if (!isChanged || text.length > maxPrompt) return;
    const now = await client.query(PromptNow, { id: agent.id }, { requestPolicy: "network-only" });
    if (!isSure && now.data?.agent && now.data.agent.promptVersion !== draft.of) {
      setForeign(true);
      setDiff(true);
      return;
    }
    if (await save.run({ input: { agentId: agent.id, prompt: text } })) discard();
  };
  useSaveKey(() => void store());
  return (
    <div className="split">
      <section className="card" aria-labelledby="prompt-title">
        <header>
          <h2 id="prompt-title">Prompt v{agent.promptVersion}</h2>
          <span className="muted">{isChanged ? "edited" : "as saved"}</span>
          <span className={`push ${text.length > maxPrompt ? "note bad" : "muted"}`}>
            {count(text.length)} / {count(maxPrompt)}
          </span>
        </header>
        <div className="body stack">
          <PromptText
            value={text}
            fields={agent.fields}
            isReadOnly={!may("write")}
            onChange={(value) => setDraft({ text: value, of: draft?.of ?? agent.promptVersion })}
          />
          <Unknown agent={agent} prompt={text} />
          {isForeign && (
            <div className="note warn stack tight" role="alert">
              <strong>
                Somebody saved v{agent.promptVersion} while you were writing on v{draft?.of}.
              </strong>
              <div className="row">
                <button type="button" onClick={() => void store(true)}>
                  Save mine as v{agent.promptVersion + 1}
                </button>
                <button type="button" onClick={discard}>
                  Take theirs
                </button>
                <span>or go on writing: below is what yours changes of theirs.</span>
              </div>
            </div>
          )}
          {save.error && <Failure error={save.error} />}
          <div className="row">
            <Act scope="write" className="primary" disabled={!isChanged || save.isBusy || text.length > maxPrompt} onClick={() => void store()}>
              Save as v{agent.promptVersion + 1}
            </Act>
            <button type="button" disabled={!isChanged} onClick={discard}>
              Discard
            </button>
            <button type="button" disabled={!isChanged} aria-pressed={isDiff} onClick={() => setDiff(!isDiff)}>
              What changed
            </button>
            <span className="muted small">Ctrl-S saves</span>
          </div>
          {isDiff && isChanged && (
            <Suspense fallback={<Loading lines={3} />}>
              <Diff from={agent.prompt} to={text} />
            </Suspense>
          )}
        </div>
      </section>
      <AgentHealth agent={agent} />
    </div>
  );
}

/** Names placeholders without a field, and offers to add the fields. */
function Unknown({ agent, prompt }: { agent: AgentOfPage; prompt: string }) {
  const add = useAction(AddField);
  const unknown = unknownPlaceholders(prompt, agent.fields);
  if (unknown.length === 0) return null;
  return (
    <div className="note warn stack tight">
      <span>No field fills {unknown.length === 1 ? "this placeholder" : "these placeholders"}; the agent would read it as it stands:</span>
      <div className="row">
        {unknown.map((name) => (
          <span key={name} className="row tight">
            <code>{`{${name}}`}</code>
            <Act
              scope="write"
              disabled={add.isBusy}
              onClick={() =>
                void add.run({
                  input: {
                    agentId: agent.id,
                    fields: [...agent.fields.map((f) => ({ name: f.name, isMandatory: f.isMandatory, isSystem: f.isSystem })), { name }],
                  },
                })
              }
            >
              Add field
            </Act>
          </span>
        ))}
      </div>
      {add.error && <Failure error={add.error} />}
    </div>
  );
}

/** Keeps the unsaved prompt in this tab until it is saved or discarded. */
function useDraft(agent: AgentOfPage): [Draft | undefined, (draft: Draft | undefined) => void] {
  const name = `agentgraph:prompt:${agent.id}`;
  const [draft, setDraft] = useState<Draft | undefined>(() => {
    const kept = sessionStorage.getItem(name);
    return kept ? (JSON.parse(kept) as Draft) : undefined;
  });
  const change = (next: Draft | undefined) => {
    if (next) sessionStorage.setItem(name, JSON.stringify(next));
    else sessionStorage.removeItem(name);
    setDraft(next);
  };
  return [draft, change];
}

function useSaveKey(save: () => void): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    save();
  });
  useEffect(() => {
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}
