import type { CombinedError } from "@urql/core";
import { useRef, useState, type FormEvent } from "react";
import { graphql } from "../../api/graphql";
import { useAction, useConflict } from "../../api/page";
import { changesOf } from "../../logic/changes";
import { Act, may } from "../../ui/Act";
import { ask } from "../../ui/asking";
import { Conflict } from "../../ui/Conflict";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";

const CreateFolder = graphql(`
  mutation CreateFolder($input: CreateAgentTestFolderInput!) {
    createAgentTestFolder(input: $input) { folder { id } }
  }
`);

const UpdateFolder = graphql(`
  mutation UpdateFolder($input: UpdateAgentTestFolderInput!) {
    updateAgentTestFolder(input: $input) { folder { id name color body updatedAt } }
  }
`);

const DeleteFolder = graphql(`
  mutation DeleteFolder($input: DeleteAgentTestFolderInput!) {
    deleteAgentTestFolder(input: $input) { deletedId }
  }
`);

interface Folder {
  id: string;
  name: string;
  color: string;
  body: string;
  updatedAt: string;
}

type Values = Pick<Folder, "name" | "color" | "body">;

interface Props {
  agentId: string;
  /** Undefined to create one. */
  folder: Folder | undefined;
  reread: () => void;
  onClose: () => void;
}

/** Creates or changes a folder of an agent's tests. */
export function FolderEditor(props: Props) {
  // A new key resets the form to the current folder.
  const [round, setRound] = useState(0);
  return (
    <Dialog title={props.folder ? "Edit folder" : "New folder"} onClose={props.onClose}>
      <FolderForm key={round} {...props} takeTheirs={() => setRound(round + 1)} />
    </Dialog>
  );
}

function FolderForm({ agentId, folder, reread, takeTheirs, onClose }: Props & { takeTheirs: () => void }) {
  const [began] = useState(folder);
  const before = valuesOf(began);
  const create = useAction(CreateFolder);
  const update = useAction(UpdateFolder);
  const remove = useAction(DeleteFolder);
  const isForeign = useConflict(update.error, reread);
  const error = create.error ?? update.error ?? remove.error;
  const form = useRef<HTMLFormElement>(null);
  const store = async (expectedUpdatedAt: string | undefined) => {
    if (!form.current?.reportValidity()) return;
    const values = readValues(new FormData(form.current));
    if (!folder) {
      if (await create.run({ input: { agentId, ...values } })) onClose();
      return;
    }
    const changes = changesOf(before, values);
    if (!changes || (await update.run({ input: { folderId: folder.id, ...changes, expectedUpdatedAt } }))) onClose();
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void store(began?.updatedAt);
  };
  const destroy = async () => {
    if (!folder || !(await ask({ title: `Delete ${folder.name}?`, text: "The tests in the folder are kept, without a folder.", verb: "Delete folder", isDangerous: true }))) return;
    if (await remove.run({ input: { folderId: folder.id } })) onClose();
  };
  return (
    <form ref={form} onSubmit={submit}>
      <fieldset className="stack" disabled={!may("write")}>
        <FolderFields values={before} isNew={!folder} error={error} />
        {isForeign && (
          <Conflict what="folder" theirs={changesOf(inWords(before), inWords(valuesOf(folder)))} save={() => void store(folder?.updatedAt)} take={takeTheirs} />
        )}
        {!isForeign && <FormFailure error={error} shown={["name", "color", "body"]} />}
        <div className="row">
          <Act scope="write" type="submit" className="primary" disabled={create.isBusy || update.isBusy}>
            {folder ? "Save" : "Create folder"}
          </Act>
          {folder && (
            <Act scope="write" className="danger push" disabled={remove.isBusy} onClick={() => void destroy()}>
              Delete
            </Act>
          )}
        </div>
      </fieldset>
    </form>
  );
}

function FolderFields({ values, isNew, error }: { values: Values; isNew: boolean; error: CombinedError | undefined }) {
  return (
    <>
      <div className="row top">
        <Field label="Name" path="name" error={error}>
          {(control) => <input {...control} required autoFocus={isNew} defaultValue={values.name} />}
        </Field>
        <Field label="Color" path="color" error={error}>
          {(control) => <input {...control} type="color" defaultValue={values.color} />}
        </Field>
      </div>
      <Field label="Description" path="body" error={error}>
        {(control) => <textarea {...control} rows={3} defaultValue={values.body} />}
      </Field>
    </>
  );
}

function valuesOf(folder: Folder | undefined): Values {
  return { name: folder?.name ?? "", color: folder?.color.toUpperCase() ?? "#6B7280", body: folder?.body ?? "" };
}

function readValues(form: FormData): Values {
  const text = (name: string) => String(form.get(name)).trim();
  return { name: text("name"), color: text("color").toUpperCase(), body: text("body") };
}

function inWords({ name, color, body }: Values): Record<string, string> {
  return { Name: name, Color: color, "Description": body };
}
