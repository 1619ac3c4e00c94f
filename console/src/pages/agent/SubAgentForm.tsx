import type { FormEvent } from "react";
import { technicalName } from "../../logic/names";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";
import type { Action } from "../../api/page";

/** The values of the form for a sub-agent. The name for the model cannot be changed later. */
export interface SubAgentValues {
  name: string;
  technicalName?: string;
  description: string;
}

/** Asks for the sub-agent's name and description for the model. `values` has the current values of an existing sub-agent. */
export function SubAgentForm({ to, values, action, save, onClose }: {
  /** The name of the agent that answers. */
  to: string;
  values?: SubAgentValues;
  action: Action<unknown, never>;
  save: (values: SubAgentValues) => Promise<boolean>;
  onClose: () => void;
}) {
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name)).trim();
    const isSaved = await save({ name: text("name"), description: text("description"), ...(!values && { technicalName: text("technicalName") }) });
    if (isSaved) onClose();
  };
  const { error } = action;
  return (
    <Dialog title={`Delegate to ${to}`} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field label="Name" path="name" error={error}>
          {(control) => <input {...control} required autoFocus defaultValue={values?.name ?? to} />}
        </Field>
        {!values && (
          <Field label="Name for the model" path="technicalName" error={error}>
            {(control) => <input {...control} required className="mono" pattern="[a-z][a-z0-9_]*" defaultValue={technicalName(to)} />}
          </Field>
        )}
        <Field label="When to delegate, for the model" path="description" error={error}>
          {(control) => <textarea {...control} rows={4} required placeholder="Knows about … Ask it when …" defaultValue={values?.description} />}
        </Field>
        <FormFailure error={error} shown={["name", "technicalName", "description"]} />
        <div>
          <button type="submit" className="primary" disabled={action.isBusy}>
            {values ? "Save" : "Connect"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
