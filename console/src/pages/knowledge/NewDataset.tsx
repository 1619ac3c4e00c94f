import type { FormEvent } from "react";
import { useLocation } from "wouter";
import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";

const CreateDataset = graphql(`
  mutation CreateDataset($input: CreateDatasetInput!) {
    createDataset(input: $input) { dataset { id name } }
  }
`);

/** How documents are cut: the API's word, and what it suits. */
const methods = [
  ["naive", "any text"],
  ["manual", "manuals with headings"],
  ["qa", "questions with answers"],
  ["table", "tables"],
  ["book", "books"],
  ["laws", "laws"],
  ["paper", "papers"],
  ["presentation", "presentations"],
  ["email", "e-mails"],
  ["one", "each document as one piece"],
] as const;

/** Asks for what a dataset needs, and opens it, so that files can be dropped there. */
export function NewDataset({ onClose }: { onClose: () => void }) {
  const create = useAction(CreateDataset);
  const [, go] = useLocation();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name)).trim();
    const made = await create.run({ input: { name: text("name"), description: text("description"), chunkMethod: text("chunkMethod") } });
    if (made?.createDataset) go(`/knowledge/datasets/${made.createDataset.dataset.id}`);
  };
  return (
    <Dialog title="New dataset" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field label="Name" path="name" error={create.error}>
          {(control) => <input {...control} required autoFocus />}
        </Field>
        <Field label="What it holds" path="description" error={create.error}>
          {(control) => <textarea {...control} rows={2} />}
        </Field>
        <Field label="Its documents are" path="chunkMethod" error={create.error} hint="This decides where they are cut. The API can change it later.">
          {(control) => (
            <select {...control}>
              {methods.map(([method, text]) => (
                <option key={method} value={method}>
                  {text} ({method})
                </option>
              ))}
            </select>
          )}
        </Field>
        <FormFailure error={create.error} shown={["name", "description", "chunkMethod"]} />
        <div>
          <button type="submit" className="primary" disabled={create.isBusy}>
            Create dataset
          </button>
        </div>
      </form>
    </Dialog>
  );
}
