import { useState, type FormEvent } from "react";
import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import { Act } from "../../ui/Act";
import { errorText } from "../../ui/states";

const SaveNote = graphql(`
  mutation SaveNote($input: UpdatePromptVersionInput!) {
    updatePromptVersion(input: $input) { promptVersion { id note } }
  }
`);

/** The note on why a version was written, and a field to change the note. */
export function VersionNote({ version }: { version: { id: string; version: number; note: string | null } }) {
  const save = useAction(SaveNote);
  const [isOpen, setOpen] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const note = String(new FormData(event.currentTarget).get("note"));
    if ((await save.run({ input: { promptVersionId: version.id, note } }))?.updatePromptVersion) setOpen(false);
  };
  if (!isOpen) {
    return (
      <div className="small muted">
        {version.note}{" "}
        <Act scope="write" className="plain" onClick={() => setOpen(true)}>
          {version.note ? "Edit" : "Add"} note<span className="unseen"> of v{version.version}</span>
        </Act>
      </div>
    );
  }
  return (
    <form onSubmit={submit} onKeyDown={(event) => event.key === "Escape" && setOpen(false)}>
      <input name="note" aria-label={`Note for v${version.version}`} autoFocus size={14} maxLength={500} defaultValue={version.note ?? ""} />
      <button type="submit" disabled={save.isBusy}>
        Save note
      </button>
      {save.error && <div className="fault small">{errorText(save.error)}</div>}
    </form>
  );
}
