import type { FormEvent } from "react";
import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import { Act, may } from "../../ui/Act";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";

const CreateFolder = graphql(`
  mutation CreateFolder($input: CreateAgentTestFolderInput!) {
    createAgentTestFolder(input: $input) { folder { id name color body } }
  }
`);

const UpdateFolder = graphql(`
  mutation UpdateFolder($input: UpdateAgentTestFolderInput!) {
    updateAgentTestFolder(input: $input) { folder { id name color body } }
  }
`);

const DeleteFolder = graphql(`
  mutation DeleteFolder($input: DeleteAgentTestFolderInput!) {
    deleteAgentTestFolder(input: $input) { deletedId }
  }
`);

export interface FolderOfEditor {
  id: string;
  name: string;
  color: string;
  body: string;
}

/** Creates or changes a folder of an agent's tests. */
export function FolderEditor({ agentId, folder, onClose }: { agentId: string; folder: FolderOfEditor | undefined; onClose: () => void }) {
  const create = useAction(CreateFolder);
  const update = useAction(UpdateFolder);
  const remove = useAction(DeleteFolder);
  const error = create.error ?? update.error ?? remove.error;
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name)).trim();
    const given = { name: text("name"), color: text("color").toUpperCase(), body: text("body") };
    const saved = folder ? await update.run({ input: { folderId: folder.id, ...given } }) : await create.run({ input: { agentId, ...given } });
    if (saved) onClose();
  };
  const destroy = async () => {
    if (folder && confirm(`Delete the folder “${folder.name}”? Its tests stay, in no folder.`) && (await remove.run({ input: { folderId: folder.id } }))) onClose();
  };
  return (
    <Dialog title={folder ? "Folder" : "New folder"} onClose={onClose}>
      <form onSubmit={submit}>
        <fieldset className="stack" disabled={!may("write")}>
          <div className="row top">
            <Field label="Name" path="name" error={error}>
              {(control) => <input {...control} required autoFocus={!folder} defaultValue={folder?.name} />}
            </Field>
            <Field label="Colour" path="color" error={error}>
              {(control) => <input {...control} type="color" defaultValue={folder?.color ?? "#6B7280"} />}
            </Field>
          </div>
          <Field label="What its tests are about" path="body" error={error}>
            {(control) => <textarea {...control} rows={3} defaultValue={folder?.body} />}
          </Field>
          <FormFailure error={error} shown={["name", "color", "body"]} />
          <div className="row">
            <Act scope="write" type="submit" className="primary" disabled={create.isBusy || update.isBusy}>
              {folder ? "Save" : "Create folder"}
            </Act>
            {folder && (
              <Act scope="write" className="danger push" onClick={() => void destroy()}>
                Delete
              </Act>
            )}
          </div>
        </fieldset>
      </form>
    </Dialog>
  );
}
