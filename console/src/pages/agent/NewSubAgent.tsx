import type { FormEvent } from "react";
import { technicalName } from "../../logic/names";
import type { Action } from "../../api/page";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";

interface Delegate {
  id: string;
  name: string;
}

interface Edge {
  input: { agentId: string; delegateAgentId: string; name: string; technicalName: string; description: string };
}

/** Asks for the sub-agent's name and description for the model. */
export function NewSubAgent({ agentId, to, add, onClose }: { agentId: string; to: Delegate; add: Action<unknown, Edge>; onClose: () => void }) {
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name)).trim();
    const edge = { name: text("name"), technicalName: text("technicalName"), description: text("description") };
    if (await add.run({ input: { agentId, delegateAgentId: to.id, ...edge } })) onClose();
  };
  return (
    <Dialog title={`Delegate to ${to.name}`} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field label="Name" path="name" error={add.error}>
          {(control) => <input {...control} required autoFocus defaultValue={to.name} />}
        </Field>
        <Field label="Name for the model" path="technicalName" error={add.error}>
          {(control) => <input {...control} required className="mono" pattern="[a-z][a-z0-9_]*" defaultValue={technicalName(to.name)} />}
        </Field>
        <Field label="When to delegate, for the model" path="description" error={add.error}>
          {(control) => <textarea {...control} rows={3} required placeholder="Knows about … Ask it when …" />}
        </Field>
        <FormFailure error={add.error} shown={["name", "technicalName", "description"]} />
        <div>
          <button type="submit" className="primary" disabled={add.isBusy}>
            Connect
          </button>
        </div>
      </form>
    </Dialog>
  );
}
