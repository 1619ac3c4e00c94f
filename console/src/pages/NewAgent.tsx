import type { FormEvent } from "react";
import { useLocation } from "wouter";
import { graphql } from "../api/graphql";
import { useAction } from "../api/page";
import { Dialog } from "../ui/Dialog";
import { Failure } from "../ui/states";

const CreateAgent = graphql(`
  mutation CreateAgent($input: CreateAgentInput!) {
    createAgent(input: $input) { agent { id name } }
  }
`);

/** Asks for the required fields of an agent. Other pages edit the rest. */
export function NewAgent({ onClose }: { onClose: () => void }) {
  const create = useAction(CreateAgent);
  const [, go] = useLocation();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name));
    const made = await create.run({
      input: {
        name: text("name"),
        channel: text("channel") as "Phone",
        direction: text("direction") as "Inbound",
        language: text("language"),
        prompt: text("prompt"),
      },
    });
    if (made?.createAgent) go(`/agents/${made.createAgent.agent.id}`);
  };
  return (
    <Dialog title="New agent" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <div className="field">
          <label htmlFor="agent-name">Name</label>
          <input id="agent-name" name="name" required autoFocus maxLength={200} />
        </div>
        <div className="row">
          <div className="field">
            <label htmlFor="agent-channel">Channel</label>
            <select id="agent-channel" name="channel" defaultValue="Web">
              <option>Phone</option>
              <option>SMS</option>
              <option>Web</option>
              <option>WhatsApp</option>
            </select>
          </div>
          <div className="field">
            <label htmlFor="agent-direction">Direction</label>
            <select id="agent-direction" name="direction">
              <option>Inbound</option>
              <option>Outbound</option>
            </select>
          </div>
          <div className="field">
            <label htmlFor="agent-language">Language</label>
            <input id="agent-language" name="language" defaultValue="en" required size={8} />
          </div>
        </div>
        <div className="field">
          <label htmlFor="agent-prompt">Prompt</label>
          <textarea id="agent-prompt" name="prompt" required rows={6} placeholder="You are …" />
        </div>
        {create.error && <Failure error={create.error} />}
        <div>
          <button type="submit" className="primary" disabled={create.isBusy}>
            Create agent
          </button>
        </div>
      </form>
    </Dialog>
  );
}
