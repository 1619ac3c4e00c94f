import type { FormEvent } from "react";
import { useLocation } from "wouter";
import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import { changesOf, inOneLine } from "../../logic/changes";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";
import { plural } from "../../ui/format";
import { Failure } from "../../ui/states";
import type { DatasetOfPage } from "../Dataset";
import { DatasetFields } from "./DatasetFields";

const UpdateDataset = graphql(`
  mutation UpdateDataset($input: UpdateDatasetInput!) {
    updateDataset(input: $input) {
      dataset { id name description chunkMethod parserConfig { chunkTokenNum layoutRecognize delimiter taskPageSize } }
    }
  }
`);

const DeleteDataset = graphql(`
  mutation DeleteDataset($input: DeleteDatasetInput!) {
    deleteDataset(input: $input) { deletedId }
  }
`);

const shown = ["name", "description", "chunkMethod", "parserConfig.chunkTokenNum", "parserConfig.delimiter", "parserConfig.taskPageSize"];

/** Changes a dataset, or deletes it. */
export function DatasetSettings({ dataset, onClose, onSaved }: { dataset: DatasetOfPage; onClose: () => void; onSaved: () => void }) {
  const save = useAction(UpdateDataset);
  const remove = useAction(DeleteDataset);
  const [, go] = useLocation();
  const { parserConfig } = dataset;
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name)).trim();
    const changes = changesOf(
      { name: dataset.name, description: dataset.description ?? "", chunkMethod: dataset.chunkMethod },
      { name: text("name"), description: text("description"), chunkMethod: text("chunkMethod") },
    );
    const parsing = changesOf(
      { ...parserConfig, delimiter: inOneLine(parserConfig.delimiter) },
      {
        chunkTokenNum: Number(text("parserConfig.chunkTokenNum")),
        layoutRecognize: form.get("layoutRecognize") === "on",
        // Spaces may be what texts are cut at.
        delimiter: String(form.get("parserConfig.delimiter")),
        taskPageSize: Number(text("parserConfig.taskPageSize")),
      },
    );
    if ((changes || parsing) && !(await save.run({ input: { datasetId: dataset.id, ...changes, parserConfig: parsing } }))) return;
    onSaved();
    onClose();
  };
  const deleteIt = async () => {
    if (!confirm(`Delete ${dataset.name} with its ${plural(dataset.documentCount, "document")}? Agents no longer find anything in them.`)) return;
    if (await remove.run({ input: { datasetId: dataset.id } })) go("/knowledge");
  };
  return (
    <Dialog title="Settings of the dataset" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <DatasetFields dataset={dataset} error={save.error} hint="When this or what is below changes where texts are cut, all documents are indexed again." />
        <div className="row top">
          <Field label="Tokens in a chunk" path="parserConfig.chunkTokenNum" error={save.error}>
            {(control) => <input {...control} type="number" required min={1} max={2_048} defaultValue={parserConfig.chunkTokenNum} />}
          </Field>
          <Field label="Texts are cut at" path="parserConfig.delimiter" error={save.error} hint="\n is the end of a line.">
            {(control) => <input {...control} required className="mono" maxLength={255} defaultValue={inOneLine(parserConfig.delimiter)} />}
          </Field>
          <Field label="Pages in a task" path="parserConfig.taskPageSize" error={save.error}>
            {(control) => <input {...control} type="number" required min={1} max={1_000} defaultValue={parserConfig.taskPageSize} />}
          </Field>
        </div>
        <label className="check">
          <input type="checkbox" name="layoutRecognize" defaultChecked={parserConfig.layoutRecognize} /> Recognise the layout of pages
        </label>
        <FormFailure error={save.error} shown={shown} />
        {remove.error && <Failure error={remove.error} />}
        <div className="row between">
          <button type="submit" className="primary" disabled={save.isBusy}>
            Save
          </button>
          <button type="button" className="danger" disabled={remove.isBusy} onClick={() => void deleteIt()}>
            Delete dataset
          </button>
        </div>
      </form>
    </Dialog>
  );
}
