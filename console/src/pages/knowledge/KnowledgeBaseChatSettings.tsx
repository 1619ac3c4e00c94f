import type { CombinedError } from "@urql/core";
import type { FormEvent } from "react";
import { useLocation } from "wouter";
import { graphql, type ResultOf } from "../../api/graphql";
import { useAction, usePage } from "../../api/page";
import { changesOf } from "../../logic/changes";
import { may } from "../../ui/Act";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";
import { plural } from "../../ui/format";
import { Failure, Loading } from "../../ui/states";

const SettingsQuery = graphql(`
  query KnowledgeBaseChatSettings($id: ID!, $seesPrompt: Boolean!) {
    knowledgeBaseChat(id: $id) {
      id name datasetIds connectedAgentCount
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
    updateKnowledgeBaseChat(input: $input) { knowledgeBaseChat { id name } }
  }
`);

const DeleteChat = graphql(`
  mutation DeleteKnowledgeBaseChat($input: DeleteKnowledgeBaseChatInput!) {
    deleteKnowledgeBaseChat(input: $input) { deletedId }
  }
`);

type Settings = ResultOf<typeof SettingsQuery>;
type Chat = NonNullable<Settings["knowledgeBaseChat"]>;

/** The numbers, by their paths in the input: what they are, and their bounds. */
const found = {
  similarityThreshold: ["Score from", 0, 1],
  keywordsSimilarityWeight: ["Words weigh", 0, 1],
  topN: ["Chunks at most", 1, 100],
} as const;
const written = {
  temperature: ["Temperature", 0, 2],
  topP: ["Top p", 0, 1],
  presencePenalty: ["Presence penalty", -2, 2],
  frequencyPenalty: ["Frequency penalty", -2, 2],
} as const;
const texts = ["opener", "emptyResponse", "rerankModel"] as const;

const shown = [
  "name",
  "datasetIds",
  ...[...Object.keys(found), ...texts, "prompt"].map((name) => `promptSettings.${name}`),
  ...Object.keys(written).map((name) => `llmSettings.${name}`),
];

/** Changes a knowledge base chat, or deletes it. */
export default function KnowledgeBaseChatSettings({ id, onClose, onSaved }: { id: string; onClose: () => void; onSaved: () => void }) {
  const answer = usePage(SettingsQuery, { id, seesPrompt: may("prompts") });
  const chat = answer.data?.knowledgeBaseChat;
  return (
    <Dialog title="Settings of the knowledge base chat" onClose={onClose}>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!chat && !answer.error && <Loading />}
      {chat && answer.data && <Form chat={chat} datasets={answer.data.datasets.nodes} onClose={onClose} onSaved={onSaved} />}
    </Dialog>
  );
}

function Form({ chat, datasets, onClose, onSaved }: { chat: Chat; datasets: Settings["datasets"]["nodes"]; onClose: () => void; onSaved: () => void }) {
  const save = useAction(UpdateChat);
  const remove = useAction(DeleteChat);
  const [, go] = useLocation();
  const { llmSettings, promptSettings } = chat;
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const changes = changed(chat, new FormData(event.currentTarget));
    if (changes && !(await save.run({ input: { chatId: chat.id, ...changes } }))) return;
    onSaved();
    onClose();
  };
  const deleteIt = async () => {
    if (!confirm(`Delete ${chat.name}? ${plural(chat.connectedAgentCount, "agent")} then answer without it; its datasets stay.`)) return;
    if (await remove.run({ input: { chatId: chat.id } })) go("/knowledge");
  };
  const connected = new Set(chat.datasetIds);
  const others = datasets.filter((dataset) => !connected.has(dataset.id));
  return (
    <form className="stack" onSubmit={submit}>
      <Field label="Name" path="name" error={save.error}>
        {(control) => <input {...control} required defaultValue={chat.name} />}
      </Field>
      <fieldset className="stack tight">
        <legend>Datasets to answer from</legend>
        {[...chat.datasets, ...others].map((dataset) => (
          <label key={dataset.id} className="check">
            <input type="checkbox" name="datasetIds" value={dataset.id} defaultChecked={connected.has(dataset.id)} /> {dataset.name}
            <span className="muted small">{plural(dataset.documentCount, "document")}</span>
          </label>
        ))}
        {datasets.length === 0 && <p className="muted">There are none yet.</p>}
      </fieldset>
      <fieldset className="stack tight">
        <legend>What is found</legend>
        <Numbers of="promptSettings" bounds={found} values={promptSettings} error={save.error} />
      </fieldset>
      {promptSettings.prompt !== undefined && (
        <Field
          label="What the agent's instructions go on with"
          path="promptSettings.prompt"
          error={save.error}
          hint="{knowledge} is where the chunks go; other placeholders are filled from the data bag."
        >
          {(control) => <textarea {...control} rows={5} className="mono" defaultValue={promptSettings.prompt} />}
        </Field>
      )}
      <Field label="What it says first, without a welcome message" path="promptSettings.opener" error={save.error}>
        {(control) => <textarea {...control} rows={2} defaultValue={promptSettings.opener} />}
      </Field>
      <Field
        label="What it answers when it finds nothing"
        path="promptSettings.emptyResponse"
        error={save.error}
        hint="Word for word, to greetings too. Left empty, the model answers."
      >
        {(control) => <textarea {...control} rows={2} defaultValue={promptSettings.emptyResponse} />}
      </Field>
      <label className="check">
        <input type="checkbox" name="showQuote" defaultChecked={promptSettings.showQuote} /> Answers name their sources
      </label>
      <fieldset className="stack tight">
        <legend>How the model writes</legend>
        <Numbers of="llmSettings" bounds={written} values={llmSettings} error={save.error} />
      </fieldset>
      <Field label="Model that ranks again" path="promptSettings.rerankModel" error={save.error} hint="Empty for none.">
        {(control) => <input {...control} defaultValue={promptSettings.rerankModel} />}
      </Field>
      <FormFailure error={save.error} shown={shown} />
      {remove.error && <Failure error={remove.error} />}
      <div className="row between">
        <button type="submit" className="primary" disabled={save.isBusy}>
          Save
        </button>
        <button type="button" className="danger" disabled={remove.isBusy} onClick={() => void deleteIt()}>
          Delete knowledge base chat
        </button>
      </div>
    </form>
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

/** What the form changes. The rest is not sent, so that it stays as others may have changed it meanwhile. */
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
        ...Object.fromEntries(texts.map((name) => [name, text(`promptSettings.${name}`)])),
        ...(promptSettings.prompt !== undefined && { prompt: String(form.get("promptSettings.prompt")) }),
        showQuote: form.get("showQuote") === "on",
      }),
    },
  );
}
