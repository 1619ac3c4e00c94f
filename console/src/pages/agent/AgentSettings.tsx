import { useRef, useState, type FormEvent } from "react";
import { graphql, type VariablesOf } from "../../api/graphql";
import { useAction } from "../../api/page";
import { Act, may } from "../../ui/Act";
import { Conflict } from "../../ui/Conflict";
import { Field, FormFailure } from "../../ui/Field";
import type { AgentOfPage } from "../Agent";
import { useForeign } from "./AgentPrompt";

const SaveAgent = graphql(`
  mutation SaveAgent($input: UpdateAgentInput!) {
    updateAgent(input: $input) {
      agent {
        id name channel direction language tags updatedAt inboundWelcomeMessage outboundWelcomeMessage isCallTransferEnabled
        fields { name isMandatory isSystem }
      }
    }
  }
`);

/** The fields that show their own faults. */
const shown = ["name", "channel", "direction", "language", "tags", "inboundWelcomeMessage", "outboundWelcomeMessage", "fields"];

type Changes = VariablesOf<typeof SaveAgent>["input"];

/** Name, channel, welcome messages and fields. */
export default function AgentSettings({ agent }: { agent: AgentOfPage }) {
  // A new key fills the form with the agent as it is now.
  const [form, setForm] = useState(0);
  return <SettingsForm key={form} agent={agent} takeTheirs={() => setForm(form + 1)} />;
}

function SettingsForm({ agent, takeTheirs }: { agent: AgentOfPage; takeTheirs: () => void }) {
  const save = useAction(SaveAgent);
  const isForeign = useForeign(agent.id, save.error);
  const [isSaved, setSaved] = useState(false);
  // The form shows the agent of this moment, whatever the cache learns meanwhile.
  const [shownAt, setShownAt] = useState(agent.updatedAt);
  const form = useRef<HTMLFormElement>(null);
  const isReadOnly = !may("write");
  const store = async (expectedUpdatedAt: string) => {
    if (!form.current?.reportValidity()) return;
    const saved = await save.run({ input: { ...changes(agent, new FormData(form.current)), expectedUpdatedAt } });
    setSaved(Boolean(saved));
    if (saved?.updateAgent) setShownAt(saved.updateAgent.agent.updatedAt);
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void store(shownAt);
  };
  return (
    <form ref={form} className="split" onSubmit={submit} onChange={() => setSaved(false)}>
      <section className="card" aria-labelledby="settings-title">
        <header>
          <h2 id="settings-title">Settings</h2>
        </header>
        <fieldset className="body stack" disabled={isReadOnly}>
          <Field label="Name" path="name" error={save.error}>
            {(control) => <input {...control} required defaultValue={agent.name} />}
          </Field>
          <div className="row top">
            <Field label="Channel" path="channel" error={save.error}>
              {(control) => (
                <select {...control} defaultValue={agent.channel}>
                  {["Phone", "SMS", "Web", "WhatsApp"].map((channel) => (
                    <option key={channel}>{channel}</option>
                  ))}
                </select>
              )}
            </Field>
            <Field label="Direction" path="direction" error={save.error}>
              {(control) => (
                <select {...control} defaultValue={agent.direction}>
                  <option>Inbound</option>
                  <option>Outbound</option>
                </select>
              )}
            </Field>
            <Field label="Language" path="language" error={save.error}>
              {(control) => <input {...control} required size={6} defaultValue={agent.language} />}
            </Field>
          </div>
          <Field label="Tags, separated by commas" path="tags" error={save.error}>
            {(control) => <input {...control} defaultValue={agent.tags.join(", ")} />}
          </Field>
          <Field label="Welcome message of inbound conversations" path="inboundWelcomeMessage" error={save.error}>
            {(control) => <textarea {...control} rows={2} defaultValue={agent.inboundWelcomeMessage ?? ""} />}
          </Field>
          <Field label="Welcome message of outbound conversations" path="outboundWelcomeMessage" error={save.error}>
            {(control) => <textarea {...control} rows={2} defaultValue={agent.outboundWelcomeMessage ?? ""} />}
          </Field>
          <label className="check">
            <input type="checkbox" name="transfer" defaultChecked={agent.isCallTransferEnabled} /> It may transfer calls to a person
          </label>
          <Field
            label="Fields of the data bag, one in a line; * marks a mandatory one"
            path="fields"
            error={save.error}
            hint={`The system fills ${agent.fields.filter((f) => f.isSystem).map((f) => f.name).join(", ") || "none"}.`}
          >
            {(control) => (
              <textarea
                {...control}
                rows={6}
                className="mono"
                defaultValue={agent.fields.filter((f) => !f.isSystem).map((f) => f.name + (f.isMandatory ? "*" : "")).join("\n")}
              />
            )}
          </Field>
          {isForeign && <Conflict what="agent" save={() => void store(agent.updatedAt)} take={takeTheirs} />}
          {!isForeign && <FormFailure error={save.error} shown={shown} />}
          <div className="row">
            <Act scope="write" type="submit" className="primary" disabled={save.isBusy}>
              Save settings
            </Act>
            <span role="status" className="muted">
              {isSaved && "Saved."}
            </span>
          </div>
        </fieldset>
      </section>
      <section className="card" aria-labelledby="found-title">
        <header>
          <h2 id="found-title">What is found out in a conversation</h2>
        </header>
        <dl className="body facts">
          {agent.classificationTags.map((tag) => (
            <div key={tag.name} style={{ display: "contents" }}>
              <dt>{tag.name}</dt>
              <dd>{tag.definition || "–"}</dd>
            </div>
          ))}
          {agent.extractedValues.map((value) => (
            <div key={value.name} style={{ display: "contents" }}>
              <dt>
                {value.name} ({value.type})
              </dt>
              <dd>{value.definition || "–"}</dd>
            </div>
          ))}
          {agent.classificationTags.length + agent.extractedValues.length === 0 && <dd className="muted">Nothing: no tags, no values.</dd>}
        </dl>
      </section>
    </form>
  );
}

function changes(agent: AgentOfPage, form: FormData): Changes {
  const text = (name: string) => String(form.get(name)).trim();
  const lines = text("fields").split("\n").map((line) => line.trim()).filter(Boolean);
  return {
    agentId: agent.id,
    name: text("name"),
    channel: text("channel") as AgentOfPage["channel"],
    direction: text("direction") as AgentOfPage["direction"],
    language: text("language"),
    tags: text("tags").split(",").map((tag) => tag.trim()).filter(Boolean),
    inboundWelcomeMessage: text("inboundWelcomeMessage"),
    outboundWelcomeMessage: text("outboundWelcomeMessage"),
    isCallTransferEnabled: form.get("transfer") === "on",
    fields: [
      ...lines.map((line) => ({ name: line.replace(/\*$/, ""), isMandatory: line.endsWith("*") })),
      ...agent.fields.filter((f) => f.isSystem).map((f) => ({ name: f.name, isMandatory: f.isMandatory, isSystem: true })),
    ],
  };
}
