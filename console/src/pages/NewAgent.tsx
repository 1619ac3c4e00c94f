import type { FormEvent } from "react";
import { graphql } from "../api/graphql";
import { useAction, useGo } from "../api/page";
import { Dialog } from "../ui/Dialog";
import { Field, FormFailure } from "../ui/Field";

const CreateAgent = graphql(`
  mutation CreateAgent($input: CreateAgentInput!) {
    createAgent(input: $input) { agent { id name } }
  }
`);

/** Asks for the required fields of an agent. Other pages edit the rest. */
export function NewAgent({ onClose }: { onClose: () => void }) {
  const create = useAction(CreateAgent);
  const go = useGo();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name));
    const created = await create.run({
      input: {
        name: text("name"),
        channel: text("channel") as "Phone",
        direction: text("direction") as "Inbound",
        language: text("language"),
        prompt: text("prompt"),
      },
    });
    if (created?.createAgent) go(`/agents/${created.createAgent.agent.id}`);
  };
  return (
    <Dialog title="New agent" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field label="Name" path="name" error={create.error}>
          {(control) => <input {...control} required autoFocus maxLength={200} />}
        </Field>
        <div className="row top">
          <Field label="Channel" path="channel" error={create.error}>
            {(control) => (
              <select {...control} defaultValue="Web">
                <option>Phone</option>
                <option>SMS</option>
                <option>Web</option>
                <option>WhatsApp</option>
              </select>
            )}
          </Field>
          <Field label="Direction" path="direction" error={create.error}>
            {(control) => (
              <select {...control}>
                <option>Inbound</option>
                <option>Outbound</option>
              </select>
            )}
          </Field>
          <Field label="Language" path="language" error={create.error} hint="Such as en or fr-CA">
            {(control) => <input {...control} defaultValue="en" required size={8} />}
          </Field>
        </div>
        <Field label="Prompt" path="prompt" error={create.error} hint={<>A name in braces, such as {"{firstName}"}, is filled from the field of that name.</>}>
          {(control) => <textarea {...control} required rows={6} placeholder="You are …" />}
        </Field>
        <FormFailure error={create.error} shown={["name", "channel", "direction", "language", "prompt"]} />
        <div>
          <button type="submit" className="primary" disabled={create.isBusy}>
            Create agent
          </button>
        </div>
      </form>
    </Dialog>
  );
}
