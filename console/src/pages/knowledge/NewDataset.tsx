import type { FormEvent } from "react";
import { graphql } from "../../api/graphql";
import { useAction, useGo } from "../../api/page";
import { Dialog } from "../../ui/Dialog";
import { FormFailure } from "../../ui/Field";
import { DatasetFields } from "./DatasetFields";

const CreateDataset = graphql(`
  mutation CreateDataset($input: CreateDatasetInput!) {
    createDataset(input: $input) { dataset { id name } }
  }
`);

/** Creates a dataset and opens its page, where files can be dropped. */
export function NewDataset({ onClose }: { onClose: () => void }) {
  const create = useAction(CreateDataset);
  const go = useGo();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name)).trim();
    const created = await create.run({ input: { name: text("name"), description: text("description"), chunkMethod: text("chunkMethod"), language: text("language") } });
    if (created?.createDataset) go(`/knowledge/datasets/${created.createDataset.dataset.id}`);
  };
  return (
    <Dialog title="New dataset" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <DatasetFields error={create.error} hint="How documents are split into chunks." />
        <FormFailure error={create.error} shown={["name", "description", "chunkMethod", "language"]} />
        <div>
          <button type="submit" className="primary" disabled={create.isBusy}>
            Create dataset
          </button>
        </div>
      </form>
    </Dialog>
  );
}
