import type { FormEvent } from "react";
import { graphql } from "../../api/graphql";
import { useAction, useGo } from "../../api/page";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";
import { plural } from "../../ui/format";

const CreateChat = graphql(`
  mutation CreateKnowledgeBaseChat($input: CreateKnowledgeBaseChatInput!) {
    createKnowledgeBaseChat(input: $input) { knowledgeBaseChat { id name } }
  }
`);

interface Choice {
  id: string;
  name: string;
  documentCount: number;
}

/** Creates a knowledge base chat and opens its page, where questions can be tried. */
export function NewKnowledgeBaseChat({ datasets, onClose }: { datasets: readonly Choice[]; onClose: () => void }) {
  const create = useAction(CreateChat);
  const go = useGo();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const created = await create.run({
      input: {
        name: String(form.get("name")).trim(),
        datasetIds: form.getAll("datasetIds").map(String),
        promptSettings: { showQuote: form.get("showQuote") === "on", emptyResponse: String(form.get("promptSettings.emptyResponse")).trim() },
      },
    });
    if (created?.createKnowledgeBaseChat) go(`/knowledge/chats/${created.createKnowledgeBaseChat.knowledgeBaseChat.id}`);
  };
  return (
    <Dialog title="New knowledge base chat" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field label="Name" path="name" error={create.error}>
          {(control) => <input {...control} required autoFocus />}
        </Field>
        <fieldset className="stack tight">
          <legend>Datasets</legend>
          {datasets.map((dataset) => (
            <label key={dataset.id} className="check">
              <input type="checkbox" name="datasetIds" value={dataset.id} /> {dataset.name}
              <span className="muted small">{plural(dataset.documentCount, "document")}</span>
            </label>
          ))}
          {datasets.length === 0 && <p className="muted">No datasets yet. Create one first, or connect one later.</p>}
        </fieldset>
        <Field
          label="Answer without results"
          path="promptSettings.emptyResponse"
          error={create.error}
          hint="Sent verbatim, also to greetings. If empty, the model answers, which suits agents with other tasks."
        >
          {(control) => <input {...control} />}
        </Field>
        <label className="check">
          <input type="checkbox" name="showQuote" defaultChecked /> Cite sources
        </label>
        <FormFailure error={create.error} shown={["name", "promptSettings.emptyResponse"]} />
        <div>
          <button type="submit" className="primary" disabled={create.isBusy}>
            Create knowledge base chat
          </button>
        </div>
      </form>
    </Dialog>
  );
}
