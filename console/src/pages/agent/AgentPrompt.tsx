import type { CombinedError } from "@urql/core";
import { lazy, Suspense, useEffect, useEffectEvent, useLayoutEffect, useState } from "react";
import { useClient } from "urql";
import { Link } from "wouter";
import { graphql } from "../../api/graphql";
import { useAction, useConflict, useGo } from "../../api/page";
import { lineChanges } from "../../logic/promptLines";
import { unknownPlaceholders } from "../../logic/placeholders";
import { Act, may } from "../../ui/Act";
import { ask } from "../../ui/asking";
import { count, plural } from "../../ui/format";
import { Failure, Loading } from "../../ui/states";
import { toast } from "../../ui/toasts";
import type { AgentOfPage } from "./query";
import { RunConfirmation, useRun } from "../tests/RunButtons";
import { AgentHealth } from "./AgentHealth";
import { keepDraft, keptDraft, type Draft } from "./draft";
import styles from "./AgentPrompt.module.css";
import { PromptText } from "./PromptText";

const Diff = lazy(() => import("../../ui/Diff"));

const SavePrompt = graphql(`
  mutation SavePrompt($input: UpdateAgentPromptInput!) {
    updateAgentPrompt(input: $input) { agent { id prompt promptVersion updatedAt } }
  }
`);

const AddField = graphql(`
  mutation AddField($input: UpdateAgentInput!) {
    updateAgent(input: $input) { agent { id updatedAt fields { name isMandatory isSystem } } }
  }
`);

/** All fields that the editors of an agent change. */
const AgentNow = graphql(`
  query AgentNow($id: ID!) {
    agent(id: $id) {
      id name channel direction language tags prompt promptVersion updatedAt inboundWelcomeMessage outboundWelcomeMessage isCallTransferEnabled
      fields { name isMandatory isSystem }
      classificationTags { name definition isSystem }
      extractedValues { name definition type }
      knowledgeBaseChat { id name datasets { id name documentCount chunkCount } promptSettings { showQuote } }
    }
  }
`);

const maxPrompt = 50_000;

/** The prompt, for keys that may read it, beside the state of its tests. */
export function AgentPrompt({ agent, onEdited }: { agent: AgentOfPage; onEdited: (isEdited: boolean) => void }) {
  const { prompt } = agent;
  return (
    <div className={styles.work}>
      {prompt === undefined ? (
        <div className={styles.page}>
          <p className="note">The prompt is not shown: your key lacks the scope prompts.</p>
        </div>
      ) : (
        <PromptEditor agent={{ ...agent, prompt }} onEdited={onEdited} />
      )}
      <AgentHealth agent={agent} />
    </div>
  );
}

type Prompted = AgentOfPage & { prompt: string };

function PromptEditor({ agent, onEdited }: { agent: Prompted; onEdited: (isEdited: boolean) => void }) {
  const [draft, setDraft] = useDraft(agent);
  const text = draft?.text ?? agent.prompt;
  const [isDiff, setDiff] = useState(false);
  const [note, setNote] = useState("");
  const save = useAction(SavePrompt);
  const isForeign = useForeign(agent.id, save.error);
  const isChanged = draft !== undefined && draft.text !== agent.prompt;
  // A newer version than the draft's: saving waits for a decision. The draft's version is older for a moment after its own save.
  const isBehind = isChanged && draft.of < agent.promptVersion && !save.isBusy;
  useEffect(() => onEdited(isChanged), [isChanged, onEdited]);
  const discard = () => {
    setDraft(undefined);
    setNote("");
    save.reset();
    setDiff(false);
  };
  const askToDiscard = async () => {
    if (await ask({ title: "Discard the draft?", text: `Your changes to v${agent.promptVersion} are lost.`, verb: "Discard draft", isDangerous: true })) discard();
  };
  /** Bases the draft on the newer version, which the diff shows. */
  const keepEditing = () => {
    setDraft({ text, of: agent.promptVersion });
    save.reset();
    setDiff(true);
  };
  /** Saves the draft over the version that it is based on, or over the newer one that its author has seen. */
  const store = async (over = draft?.of) => {
    if (!isChanged || save.isBusy || text.length > maxPrompt) return;
    const saved = await save.run({ input: { agentId: agent.id, prompt: text, note: note || undefined, expectedVersion: over } });
    if (!saved?.updateAgentPrompt) return;
    toast(`Saved as v${saved.updateAgentPrompt.agent.promptVersion}.`);
    // Text that was typed during the save stays.
    const now = keptDraft(agent.id);
    if (now && now.text !== text) setDraft({ text: now.text, of: saved.updateAgentPrompt.agent.promptVersion });
    else discard();
  };
  useSaveKey(() => !isBehind && void store());
  const isCompared = (isDiff || isBehind) && isChanged;
  return (
    <div className={styles.editor}>
      <div className={styles.page} tabIndex={-1}>
        <PromptText
          value={text}
          saved={agent.prompt}
          fields={agent.fields}
          isReadOnly={!may("write")}
          onChange={(value) => setDraft({ text: value, of: draft?.of ?? agent.promptVersion })}
        />
      </div>
      <div className={styles.notes}>
        <Unknown agent={agent} prompt={text} />
        {isBehind && <Foreign agent={agent} of={draft.of} save={() => void store(agent.promptVersion)} take={discard} edit={keepEditing} />}
        {save.error && !isForeign && <Failure error={save.error} />}
        {isCompared && (
          <Suspense fallback={<Loading lines={3} />}>
            <Diff from={agent.prompt} to={text} />
          </Suspense>
        )}
      </div>
      <div className={styles.savebar}>
        <span className="muted">{isChanged ? changesIn(text, agent.prompt, agent.promptVersion + 1) : `v${agent.promptVersion}`}</span>
        {text.length > maxPrompt * 0.9 && (
          <span className={text.length > maxPrompt ? "fault" : "muted"}>
            {count(text.length)} of {count(maxPrompt)} characters
          </span>
        )}
        <span className="push" />
        {isChanged && (
          <>
            <input className="wide" aria-label="Note of the new version" placeholder="Why? (optional)" maxLength={500} value={note} onChange={(event) => setNote(event.target.value)} />
            <button type="button" className="quiet" onClick={() => void askToDiscard()}>
              Discard
            </button>
            <button type="button" className="quiet" aria-pressed={isCompared} onClick={() => setDiff(!isDiff)}>
              Changes
            </button>
            <Try agentId={agent.id} prompt={text} />
          </>
        )}
        <Act
          scope="write"
          className={isChanged ? "primary" : ""}
          disabled={!isChanged || isBehind || save.isBusy || text.length > maxPrompt}
          title={isBehind ? `Decide above what happens to v${agent.promptVersion}` : isChanged ? "Ctrl-S" : "Nothing has changed"}
          onClick={() => void store()}
        >
          Save as v{agent.promptVersion + 1}
        </Act>
      </div>
    </div>
  );
}

/** "Draft of v3, 1 line added, 2 lines removed". */
function changesIn(text: string, saved: string, version: number): string {
  const { added, removed } = lineChanges(text, saved);
  return [`Draft of v${version}`, added > 0 && `${plural(added, "line")} added`, removed > 0 && `${plural(removed, "line")} removed`].filter(Boolean).join(", ");
}

/** Scrolls to an element. On a telephone, notes below the prompt are out of view. */
const show = (element: HTMLElement | null) => element?.scrollIntoView({ block: "center" });

/** Says that somebody else saved a newer version. The changes to it are shown below. */
function Foreign({ agent, of, save, take, edit }: { agent: Prompted; of: number; save: () => void; take: () => void; edit: () => void }) {
  return (
    <div ref={show} className="note warn stack tight" role="alert">
      <strong>
        Somebody saved v{agent.promptVersion} while you were editing v{of}.
      </strong>
      <div className="row">
        <button type="button" onClick={save}>
          Save mine as v{agent.promptVersion + 1}
        </button>
        <button type="button" onClick={take}>
          Take theirs
        </button>
        <button type="button" onClick={edit}>
          Keep editing
        </button>
        <span>Your changes to their version are shown below.</span>
      </div>
    </div>
  );
}

/** Starts a chat or tests with the unsaved prompt. Neither saves it. */
function Try({ agentId, prompt }: { agentId: string; prompt: string }) {
  const go = useGo();
  const run = useRun((id) => go(`/agents/${agentId}/tests?execution=${id}`));
  return (
    <>
      <Link className="button wide" href={`/chats/new?agent=${agentId}&draft=1`}>
        Chat with draft
      </Link>
      <Act scope="simulate" disabled={run.isBusy || prompt.length > maxPrompt} title="Each test 3 times, without saving" onClick={() => void run.ask({ agentId, prompt, repeats: 3 })}>
        Test draft
      </Act>
      <RunConfirmation run={run} />
    </>
  );
}

/** Whether an error means that somebody else saved first. If so, it reads their version. */
export function useForeign(agentId: string, error: CombinedError | undefined): boolean {
  const client = useClient();
  return useConflict(error, () => void client.query(AgentNow, { id: agentId }, { requestPolicy: "network-only" }).toPromise());
}

/** Names placeholders without a field, and offers to add the fields. */
function Unknown({ agent, prompt }: { agent: AgentOfPage; prompt: string }) {
  const add = useAction(AddField);
  const isForeign = useForeign(agent.id, add.error);
  const unknown = unknownPlaceholders(prompt, agent.fields);
  if (unknown.length === 0) return null;
  return (
    <div className="note warn stack tight">
      <span>Placeholders without a field:</span>
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
                    expectedUpdatedAt: agent.updatedAt,
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
      {isForeign && <strong>Somebody else changed this agent after you opened it. The current fields are shown. Add your field again.</strong>}
      {add.error && !isForeign && <Failure error={add.error} />}
    </div>
  );
}

/** Keeps the unsaved prompt in this tab until it is saved or discarded. */
function useDraft(agent: AgentOfPage): [Draft | undefined, (draft: Draft | undefined) => void] {
  const [draft, setDraft] = useState(() => keptDraft(agent.id));
  const change = (next: Draft | undefined) => {
    keepDraft(agent.id, next);
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
  // A layout effect, so that the key works as soon as the prompt is shown.
  useLayoutEffect(() => {
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}
