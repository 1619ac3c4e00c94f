import type { CombinedError } from "@urql/core";
import { useRef, useState, type FormEvent } from "react";
import { graphql } from "../../api/graphql";
import { useAction, useConflict, useGo } from "../../api/page";
import { changesOf, inOneLine } from "../../logic/changes";
import { ask } from "../../ui/asking";
import { Conflict } from "../../ui/Conflict";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";
import { plural } from "../../ui/format";
import { Failure } from "../../ui/states";
import type { DatasetOfPage } from "./query";
import { DatasetFields } from "./DatasetFields";

const UpdateDataset = graphql(`
  mutation UpdateDataset($input: UpdateDatasetInput!) {
    updateDataset(input: $input) {
      dataset { id name description chunkMethod language updatedAt parserConfig { chunkTokenNum layoutRecognize delimiter taskPageSize } }
    }
  }
`);

const DeleteDataset = graphql(`
  mutation DeleteDataset($input: DeleteDatasetInput!) {
    deleteDataset(input: $input) { deletedId }
  }
`);

const shown = ["name", "description", "chunkMethod", "language", "parserConfig.chunkTokenNum", "parserConfig.delimiter", "parserConfig.taskPageSize"];

/** Changes a dataset, or deletes it. */
export function DatasetSettings({ dataset, reread, onClose }: { dataset: DatasetOfPage; reread: () => void; onClose: () => void }) {
  // A new key resets the form to the current dataset.
  const [round, setRound] = useState(0);
  return (
    <Dialog title="Dataset settings" onClose={onClose}>
      <SettingsForm key={round} dataset={dataset} reread={reread} takeTheirs={() => setRound(round + 1)} onClose={onClose} />
    </Dialog>
  );
}

function SettingsForm({ dataset, reread, takeTheirs, onClose }: {
  dataset: DatasetOfPage;
  reread: () => void;
  takeTheirs: () => void;
  onClose: () => void;
}) {
  const [began] = useState(dataset);
  const before = valuesOf(began);
  const save = useAction(UpdateDataset);
  const isForeign = useConflict(save.error, reread);
  const form = useRef<HTMLFormElement>(null);
  const store = async (expectedUpdatedAt: string) => {
    if (!form.current?.reportValidity()) return;
    const now = readValues(new FormData(form.current));
    const changes = changesOf(before.own, now.own);
    const parserConfig = changesOf(before.parsing, now.parsing);
    if ((changes || parserConfig) && !(await save.run({ input: { datasetId: dataset.id, ...changes, parserConfig, expectedUpdatedAt } }))) return;
    reread();
    onClose();
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void store(changedAt(began));
  };
  return (
    <form ref={form} className="stack" onSubmit={submit}>
      <DatasetFields dataset={began} error={save.error} hint="Changes to parsing or chunking reindex all documents." />
      <Parsing values={before.parsing} error={save.error} />
      {isForeign && (
        <Conflict
          what="dataset"
          theirs={changesOf(inWords(before), inWords(valuesOf(dataset)))}
          save={() => void store(changedAt(dataset))}
          take={takeTheirs}
        />
      )}
      {!isForeign && <FormFailure error={save.error} shown={shown} />}
      <div className="row between">
        <button type="submit" className="primary" disabled={save.isBusy}>
          Save
        </button>
        <Delete dataset={dataset} />
      </div>
    </form>
  );
}

function Parsing({ values, error }: { values: Values["parsing"]; error: CombinedError | undefined }) {
  return (
    <>
      <div className="row top">
        <Field label="Tokens per chunk" path="parserConfig.chunkTokenNum" error={error}>
          {(control) => <input {...control} type="number" required min={1} max={2_048} defaultValue={values.chunkTokenNum} />}
        </Field>
        <Field label="Separators" path="parserConfig.delimiter" error={error} hint="\n is the end of a line.">
          {(control) => <input {...control} required className="mono" maxLength={255} defaultValue={values.delimiter} />}
        </Field>
        <Field label="Pages per task" path="parserConfig.taskPageSize" error={error}>
          {(control) => <input {...control} type="number" required min={1} max={1_000} defaultValue={values.taskPageSize} />}
        </Field>
      </div>
      <label className="check">
        <input type="checkbox" name="layoutRecognize" defaultChecked={values.layoutRecognize} /> Recognize page layout
      </label>
    </>
  );
}

function Delete({ dataset }: { dataset: DatasetOfPage }) {
  const remove = useAction(DeleteDataset);
  const go = useGo();
  const deleteIt = async () => {
    const text = `Its ${plural(dataset.documentCount, "document is", "documents are")} deleted with it. Agents no longer find anything in ${dataset.documentCount === 1 ? "it" : "them"}.`;
    if (!(await ask({ title: `Delete ${dataset.name}?`, text, verb: "Delete dataset", isDangerous: true }))) return;
    if (await remove.run({ input: { datasetId: dataset.id } })) go("/knowledge");
  };
  return (
    <>
      {remove.error && <Failure error={remove.error} />}
      <button type="button" className="danger" disabled={remove.isBusy} onClick={() => void deleteIt()}>
        Delete dataset
      </button>
    </>
  );
}

interface Values {
  own: { name: string; description: string; chunkMethod: string; language: string };
  /** The delimiter is escaped into one line. */
  parsing: DatasetOfPage["parserConfig"];
}

function valuesOf({ name, description, chunkMethod, language, parserConfig }: DatasetOfPage): Values {
  return { own: { name, description: description ?? "", chunkMethod, language }, parsing: { ...parserConfig, delimiter: inOneLine(parserConfig.delimiter) } };
}

function readValues(form: FormData): Values {
  const text = (name: string) => String(form.get(name)).trim();
  return {
    own: { name: text("name"), description: text("description"), chunkMethod: text("chunkMethod"), language: text("language") },
    parsing: {
      chunkTokenNum: Number(text("parserConfig.chunkTokenNum")),
      layoutRecognize: form.get("layoutRecognize") === "on",
      // A delimiter may be spaces.
      delimiter: String(form.get("parserConfig.delimiter")),
      taskPageSize: Number(text("parserConfig.taskPageSize")),
    },
  };
}

function inWords({ own, parsing }: Values): Record<string, string> {
  return {
    Name: own.name,
    "Description": own.description,
    "Chunk method": own.chunkMethod,
    "Language": own.language,
    "Tokens per chunk": String(parsing.chunkTokenNum),
    "Separators": parsing.delimiter,
    "Pages per task": String(parsing.taskPageSize),
    "Page layout": parsing.layoutRecognize ? "recognized" : "not recognized",
  };
}

/** The time that the gateway compares. Datasets that were never changed have only `createdAt`. */
function changedAt({ updatedAt, createdAt }: DatasetOfPage): string {
  return updatedAt ?? createdAt;
}
