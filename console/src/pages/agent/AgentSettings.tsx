import { useState, type FormEvent } from "react";
import { graphql, type VariablesOf } from "../../api/graphql";
import { useAction } from "../../api/page";
import { Act, may } from "../../ui/Act";
import { Failure } from "../../ui/states";
import type { AgentOfPage } from "../Agent";

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

type Changes = VariablesOf<typeof SaveAgent>["input"];

/** Name, channel, welcome messages and fields. */
export default function AgentSettings({ agent }: { agent: AgentOfPage }) {
  const save = useAction(SaveAgent);
  const [isSaved, setSaved] = useState(false);
  const isReadOnly = !may("write");
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setSaved(Boolean(await save.run({ input: changes(agent, new FormData(event.currentTarget)) })));
  };
  return (
    <form className="split" onSubmit={submit} onChange={() => setSaved(false)}>
      <section className="card" aria-labelledby="settings-title">
        <header>
          <h2 id="settings-title">Settings</h2>
        </header>
        <fieldset className="body stack" disabled={isReadOnly} style={{ border: 0, margin: 0 }}>
          <div className="field">
            <label htmlFor="name">Name</label>
            <input id="name" name="name" required defaultValue={agent.name} />
          </div>
          <div className="row">
            <div className="field">
              <label htmlFor="channel">Channel</label>
              <select id="channel" name="channel" defaultValue={agent.channel}>
                {["Phone", "SMS", "Web", "WhatsApp"].map((channel) => (
                  <option key={channel}>{channel}</option>
                ))}
              </select>
            </div>
            <div className="field">
              <label htmlFor="direction">Direction</label>
              <select id="direction" name="direction" defaultValue={agent.direction}>
                <option>Inbound</option>
                <option>Outbound</option>
              </select>
            </div>
            <div className="field">
              <label htmlFor="language">Language</label>
              <input id="language" name="language" required size={6} defaultValue={agent.language} />
            </div>
          </div>
          <div className="field">
            <label htmlFor="tags">Tags, separated by commas</label>
            <input id="tags" name="tags" defaultValue={agent.tags.join(", ")} />
          </div>
          <div className="field">
            <label htmlFor="inbound">Welcome message of inbound conversations</label>
            <textarea id="inbound" name="inbound" rows={2} defaultValue={agent.inboundWelcomeMessage ?? ""} />
          </div>
          <div className="field">
            <label htmlFor="outbound">Welcome message of outbound conversations</label>
            <textarea id="outbound" name="outbound" rows={2} defaultValue={agent.outboundWelcomeMessage ?? ""} />
          </div>
          <label className="check">
            <input type="checkbox" name="transfer" defaultChecked={agent.isCallTransferEnabled} /> It may transfer calls to a person
          </label>
          <div className="field">
            <label htmlFor="fields">Fields of the data bag, one in a line; * marks a mandatory one</label>
            <textarea
              id="fields"
              name="fields"
              rows={6}
              className="mono"
              defaultValue={agent.fields.filter((f) => !f.isSystem).map((f) => f.name + (f.isMandatory ? "*" : "")).join("\n")}
            />
            <span className="muted small">The system fills {agent.fields.filter((f) => f.isSystem).map((f) => f.name).join(", ") || "none"}.</span>
          </div>
          {save.error && <Failure error={save.error} />}
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
    inboundWelcomeMessage: text("inbound"),
    outboundWelcomeMessage: text("outbound"),
    isCallTransferEnabled: form.get("transfer") === "on",
    fields: [
      ...lines.map((line) => ({ name: line.replace(/\*$/, ""), isMandatory: line.endsWith("*") })),
      ...agent.fields.filter((f) => f.isSystem).map((f) => ({ name: f.name, isMandatory: f.isMandatory, isSystem: true })),
    ],
  };
}
