import type { CombinedError } from "@urql/core";
import { useRef, useState, type FormEvent } from "react";
import { graphql, type ResultOf } from "../../api/graphql";
import { useAction, useConflict, useGo, usePage } from "../../api/page";
import { changesOf } from "../../logic/changes";
import { may } from "../../ui/Act";
import { ask } from "../../ui/asking";
import { Conflict } from "../../ui/Conflict";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";
import { plural } from "../../ui/format";
import { Failure, Loading } from "../../ui/states";

const SettingsQuery = graphql(`
  query KnowledgeBaseChatSettings($id: ID!, $seesPrompt: Boolean!) {
    knowledgeBaseChat(id: $id) {
      id name datasetIds connectedAgentCount createdAt updatedAt
      datasets { id name documentCount }
      llmSettings { temperature topP presencePenalty frequencyPenalty }
      promptSettings {
        similarityThreshold keywordsSimilarityWeight topN opener emptyResponse rerankModel showQuote
        prompt @include(if: $seesPrompt)
      }
    }
    datasets(first: 100) { nodes { id name documentCount } }
  }
`);

const UpdateChat = graphql(`
  mutation UpdateKnowledgeBaseChat($input: UpdateKnowledgeBaseChatInput!) {
    updateKnowledgeBaseChat(input: $input) { knowledgeBaseChat { id name updatedAt } }
  }
`);

const DeleteChat = graphql(`
  mutation DeleteKnowledgeBaseChat($input: DeleteKnowledgeBaseChatInput!) {
    deleteKnowledgeBaseChat(input: $input) { deletedId }
  }
`);

type Settings = ResultOf<typeof SettingsQuery>;
type Chat = NonNullable<Settings["knowledgeBaseChat"]>;

/** The numbers by their paths in the input, with label and bounds. */
const found = {
  similarityThreshold: ["Minimum score", 0, 1],
  keywordsSimilarityWeight: ["Keyword weight", 0, 1],
  topN: ["Maximum chunks", 1, 100],
} as const;
const written = {
  temperature: ["Temperature", 0, 2],
  topP: ["Top p", 0, 1],
  presencePenalty: ["Presence penalty", -2, 2],
  frequencyPenalty: ["Frequency penalty", -2, 2],
} as const;
/** The labels of texts, by their names in the settings. */
const texts = {
  opener: "Opening message if the agent has no welcome message",
  emptyResponse: "Answer without results",
  rerankModel: "Reranking model",
} as const;
type TextName = keyof typeof texts;
const textNames = Object.keys(texts) as TextName[];

const shown = [
  "name",
  "datasetIds",
  ...[...Object.keys(found), ...textNames, "prompt"].map((name) => `promptSettings.${name}`),
  ...Object.keys(written).map((name) => `llmSettings.${name}`),
];

interface FormProps {
  chat: Chat;
  datasets: Settings["datasets"]["nodes"];
  reread: () => void;
  onClose: () => void;
  onSaved: () => void;
}

/** Changes a knowledge base chat, or deletes it. */
export default function KnowledgeBaseChatSettings({ id, onClose, onSaved }: { id: string; onClose: () => void; onSaved: () => void }) {
  const answer = usePage(SettingsQuery, { id, seesPrompt: may("prompts") }, { isFresh: true, keeps: true });
  const chat = answer.data?.knowledgeBaseChat;
  // A new key resets the form to the current chat.
  const [round, setRound] = useState(0);
  const props = { reread: answer.refresh, takeTheirs: () => setRound(round + 1), onClose, onSaved };
  return (
    <Dialog title="Knowledge base chat settings" onClose={onClose}>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!chat && !answer.error && <Loading />}
      {chat && answer.data && <Form key={round} chat={chat} datasets={answer.data.datasets.nodes} {...props} />}
    </Dialog>
  );
}

function Form({ chat, datasets, reread, takeTheirs, onClose, onSaved }: FormProps & { takeTheirs: () => void }) {
  const [began] = useState(chat);
  const save = useAction(UpdateChat);
  const isForeign = useConflict(save.error, reread);
  const form = useRef<HTMLFormElement>(null);
  const store = async (expectedUpdatedAt: string) => {
    if (!form.current?.reportValidity()) return;
    const changes = changed(began, new FormData(form.current));
    if (changes && !(await save.run({ input: { chatId: chat.id, ...changes, expectedUpdatedAt } }))) return;
    onSaved();
    onClose();
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void store(changedAt(began));
  };
  return (
    <form ref={form} className="stack" onSubmit={submit}>
      <Field label="Name" path="name" error={save.error}>
        {(control) => <input {...control} required defaultValue={began.name} />}
      </Field>
      <Datasets chat={began} datasets={datasets} />
      <fieldset className="stack tight">
        <legend>Retrieval</legend>
        <Numbers of="promptSettings" bounds={found} values={began.promptSettings} error={save.error} />
      </fieldset>
      <Texts settings={began.promptSettings} error={save.error} />
      <fieldset className="stack tight">
        <legend>Model settings</legend>
        <Numbers of="llmSettings" bounds={written} values={began.llmSettings} error={save.error} />
      </fieldset>
      <Field label={texts.rerankModel} path="promptSettings.rerankModel" error={save.error} hint="Empty for none.">
        {(control) => <input {...control} defaultValue={began.promptSettings.rerankModel} />}
      </Field>
      {isForeign && (
        <Conflict
          what="knowledge base chat"
          theirs={changesOf(inWords(began), inWords(chat))}
          save={() => void store(changedAt(chat))}
          take={takeTheirs}
        />
      )}
      {!isForeign && <FormFailure error={save.error} shown={shown} />}
      <div className="row between">
        <button type="submit" className="primary" disabled={save.isBusy}>
          Save
        </button>
        <Delete chat={chat} />
      </div>
    </form>
  );
}

function Datasets({ chat, datasets }: { chat: Chat; datasets: Settings["datasets"]["nodes"] }) {
  const connected = new Set(chat.datasetIds);
  const others = datasets.filter((dataset) => !connected.has(dataset.id));
  return (
    <fieldset className="stack tight">
      <legend>Datasets</legend>
      {[...chat.datasets, ...others].map((dataset) => (
        <label key={dataset.id} className="check">
          <input type="checkbox" name="datasetIds" value={dataset.id} defaultChecked={connected.has(dataset.id)} /> {dataset.name}
          <span className="muted small">{plural(dataset.documentCount, "document")}</span>
        </label>
      ))}
      {datasets.length === 0 && <p className="muted">No datasets yet.</p>}
    </fieldset>
  );
}

function Texts({ settings, error }: { settings: Chat["promptSettings"]; error: CombinedError | undefined }) {
  return (
    <>
      {settings.prompt !== undefined && (
        <Field
          label="Instructions for answers"
          path="promptSettings.prompt"
          error={error}
          hint="{knowledge} is replaced by the chunks. Other placeholders are filled from the data bag."
        >
          {(control) => <textarea {...control} rows={5} className="mono" defaultValue={settings.prompt} />}
        </Field>
      )}
      <Field label={texts.opener} path="promptSettings.opener" error={error}>
        {(control) => <textarea {...control} rows={2} defaultValue={settings.opener} />}
      </Field>
      <Field label={texts.emptyResponse} path="promptSettings.emptyResponse" error={error} hint="Sent verbatim, also to greetings. If empty, the model answers.">
        {(control) => <textarea {...control} rows={2} defaultValue={settings.emptyResponse} />}
      </Field>
      <label className="check">
        <input type="checkbox" name="showQuote" defaultChecked={settings.showQuote} /> Cite sources
      </label>
    </>
  );
}

function Delete({ chat }: { chat: Chat }) {
  const remove = useAction(DeleteChat);
  const go = useGo();
  const deleteIt = async () => {
    const text = `${plural(chat.connectedAgentCount, "agent")} will answer without it. Its datasets are kept.`;
    if (!(await ask({ title: `Delete ${chat.name}?`, text, verb: "Delete knowledge base chat", isDangerous: true }))) return;
    if (await remove.run({ input: { chatId: chat.id } })) go("/knowledge");
  };
  return (
    <>
      {remove.error && <Failure error={remove.error} />}
      <button type="button" className="danger" disabled={remove.isBusy} onClick={() => void deleteIt()}>
        Delete knowledge base chat
      </button>
    </>
  );
}

type Bounds = Record<string, readonly [label: string, min: number, max: number]>;

function Numbers<B extends Bounds>({ of, bounds, values, error }: { of: string; bounds: B; values: Record<keyof B, number>; error: CombinedError | undefined }) {
  return (
    <div className="row top">
      {Object.entries(bounds).map(([name, [label, min, max]]) => (
        <Field key={name} label={label} path={`${of}.${name}`} error={error}>
          {(control) => <input {...control} type="number" required min={min} max={max} step={name === "topN" ? 1 : "any"} defaultValue={values[name]} />}
        </Field>
      ))}
    </div>
  );
}

/** The values that the form changes. Other values are not sent, so that others' changes to them stay. */
function changed(chat: Chat, form: FormData) {
  const { llmSettings, promptSettings } = chat;
  const text = (name: string) => String(form.get(name)).trim();
  const numbers = (of: string, bounds: Bounds) => Object.fromEntries(Object.keys(bounds).map((name) => [name, Number(text(`${of}.${name}`))]));
  const ticked = form.getAll("datasetIds").map(String);
  return changesOf<object>(
    { name: chat.name, datasetIds: chat.datasetIds, llmSettings: undefined, promptSettings: undefined },
    {
      name: text("name"),
      datasetIds: ticked,
      llmSettings: changesOf<object>(llmSettings, numbers("llmSettings", written)),
      promptSettings: changesOf<object>(promptSettings, {
        ...numbers("promptSettings", found),
        ...Object.fromEntries(textNames.map((name) => [name, text(`promptSettings.${name}`)])),
        ...(promptSettings.prompt !== undefined && { prompt: String(form.get("promptSettings.prompt")) }),
        showQuote: form.get("showQuote") === "on",
      }),
    },
  );
}

function inWords(chat: Chat): Record<string, string> {
  const { llmSettings, promptSettings } = chat;
  const numbers = <B extends Bounds>(bounds: B, values: Record<keyof B, number>) => Object.entries(bounds).map(([name, [label]]) => [label, String(values[name])]);
  return {
    Name: chat.name,
    Datasets: chat.datasets.map((dataset) => dataset.name).join(", "),
    ...Object.fromEntries([...numbers(found, promptSettings), ...numbers(written, llmSettings)]),
    Instructions: promptSettings.prompt ?? "",
    ...Object.fromEntries(textNames.map((name) => [texts[name], promptSettings[name]])),
    Sources: promptSettings.showQuote ? "cited" : "not cited",
  };
}

/** The time that the gateway compares. Chats that were never changed have only `createdAt`. */
function changedAt({ updatedAt, createdAt }: Chat): string {
  return updatedAt ?? createdAt;
}
