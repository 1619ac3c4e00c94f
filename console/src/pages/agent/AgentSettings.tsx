import type { CombinedError } from "@urql/core";
import { useRef, useState, type FormEvent } from "react";
import { useQuery } from "urql";
import { graphql, type VariablesOf } from "../../api/graphql";
import { useAction } from "../../api/page";
import { changesOf } from "../../logic/changes";
import { Act, may } from "../../ui/Act";
import { Conflict } from "../../ui/Conflict";
import { Field, FormFailure } from "../../ui/Field";
import type { AgentOfPage } from "./query";
import { useForeign } from "./AgentPrompt";
import { keepIn, keptIn } from "./draft";
import { ExtractedData, rowPaths } from "./ExtractedData";

const SaveAgent = graphql(`
  mutation SaveAgent($input: UpdateAgentInput!) {
    updateAgent(input: $input) {
      agent {
        id name channel direction language tags updatedAt inboundWelcomeMessage outboundWelcomeMessage isCallTransferEnabled model
        fields { name isMandatory isSystem }
        classificationTags { name definition isSystem }
        extractedValues { name definition type }
      }
    }
  }
`);

const ModelsQuery = graphql(`
  query Models { server { model models { name provider } } }
`);

/** The fields that show their own faults. */
const shown = ["name", "channel", "direction", "language", "tags", "inboundWelcomeMessage", "outboundWelcomeMessage", "model", "fields"];

type Changes = VariablesOf<typeof SaveAgent>["input"];

interface Unsaved {
  /** The agent when the form opened, and with the edited fields. */
  began: AgentOfPage;
  edited: AgentOfPage;
  tags: AgentOfPage["classificationTags"];
  extracted: AgentOfPage["extractedValues"];
}

/** The unsaved settings of the agent in this tab. If nobody changed its settings since, they are edits of the current agent. */
function keptSettings(agent: AgentOfPage): Unsaved | undefined {
  const kept = keptIn<Unsaved>("settings", agent.id);
  if (kept && !changesOf(inWords(kept.began), inWords(agent))) kept.began = agent;
  return kept;
}

/** Name, channel, welcome messages, fields and extracted data. */
export default function AgentSettings({ agent }: { agent: AgentOfPage }) {
  // A new key resets the form to the current agent.
  const [form, setForm] = useState(0);
  const takeTheirs = () => {
    keepIn("settings", agent.id, undefined);
    setForm(form + 1);
  };
  return <SettingsForm key={form} agent={agent} takeTheirs={takeTheirs} />;
}

function SettingsForm({ agent, takeTheirs }: { agent: AgentOfPage; takeTheirs: () => void }) {
  const save = useAction(SaveAgent);
  const isForeign = useForeign(agent.id, save.error);
  // The form shows the agent as it was when the form opened, whatever the cache receives later.
  const [kept] = useState(() => keptSettings(agent));
  const [began, setBegan] = useState(kept?.began ?? agent);
  const [tags, setTags] = useState(kept?.tags ?? agent.classificationTags);
  const [extracted, setExtracted] = useState(kept?.extracted ?? agent.extractedValues);
  const [isSaved, setSaved] = useState(false);
  /** The names of the fields that were sent, for the messages about them. */
  const [sent, setSent] = useState<string[]>();
  const form = useRef<HTMLFormElement>(null);
  const store = async (expectedUpdatedAt: string) => {
    if (!form.current?.reportValidity()) return;
    const before = JSON.stringify(keptIn("settings", agent.id));
    const changes = changesOf(valuesOf(began), { ...readValues(new FormData(form.current), began), classificationTags: tags, extractedValues: extracted });
    let now = began;
    if (changes) {
      setSent(changes.fields?.map(({ name }) => name));
      const saved = await save.run({ input: { agentId: agent.id, ...changes, expectedUpdatedAt } });
      if (!saved?.updateAgent) return;
      now = { ...began, ...saved.updateAgent.agent };
      setBegan(now);
    }
    // What was edited during the save stays unsaved, over the saved settings.
    const edits = keptIn<Unsaved>("settings", agent.id);
    if (edits && JSON.stringify(edits) !== before) return keepIn("settings", agent.id, { ...edits, began: now });
    keepIn("settings", agent.id, undefined);
    setSaved(true);
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void store(began.updatedAt);
  };
  const keep = (part: Partial<Unsaved>) => {
    keepIn<Unsaved>("settings", agent.id, { edited: began, tags, extracted, ...keptIn<Unsaved>("settings", agent.id), ...part, began });
    setSaved(false);
  };
  const keepFields = (event: FormEvent<HTMLFormElement>) => {
    const values = readValues(new FormData(event.currentTarget), began);
    keep({ edited: { ...began, ...values, model: values.model || null } as AgentOfPage });
  };
  return (
    <form ref={form} className="split" onSubmit={submit} onChange={keepFields}>
      <section className="card" aria-labelledby="settings-title">
        <header>
          <h2 id="settings-title">Settings</h2>
        </header>
        <fieldset className="body stack" disabled={!may("write")}>
          <Fields agent={kept?.edited ?? began} names={sent} error={save.error} />
          {isForeign && (
            <Conflict
              what="agent"
              theirs={changesOf(inWords(began), inWords(agent))}
              save={() => void store(agent.updatedAt)}
              take={takeTheirs}
            />
          )}
          {!isForeign && <FormFailure error={save.error} shown={[...shown, ...rowPaths("classificationTags", tags.length), ...rowPaths("extractedValues", extracted.length)]} />}
          <div className="row">
            <Act scope="write" type="submit" className="primary" disabled={save.isBusy}>
              Save settings
            </Act>
            <span role="status" className="muted">
              {isSaved ? "Saved." : kept && "Not saved yet."}
            </span>
          </div>
        </fieldset>
      </section>
      <ExtractedData
        tags={tags}
        setTags={(rows) => {
          setTags(rows);
          keep({ tags: rows });
        }}
        values={extracted}
        setValues={(rows) => {
          setExtracted(rows);
          keep({ extracted: rows });
        }}
        error={save.error}
      />
    </form>
  );
}

function Fields({ agent, names, error }: { agent: AgentOfPage; names: string[] | undefined; error: CombinedError | undefined }) {
  return (
    <>
      <Field label="Name" path="name" error={error}>
        {(control) => <input {...control} required defaultValue={agent.name} />}
      </Field>
      <div className="row top">
        <Field label="Channel" path="channel" error={error}>
          {(control) => (
            <select {...control} defaultValue={agent.channel}>
              {["Phone", "SMS", "Web", "WhatsApp"].map((channel) => (
                <option key={channel}>{channel}</option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Direction" path="direction" error={error}>
          {(control) => (
            <select {...control} defaultValue={agent.direction}>
              <option>Inbound</option>
              <option>Outbound</option>
            </select>
          )}
        </Field>
        <Field label="Language" path="language" error={error}>
          {(control) => <input {...control} required size={6} defaultValue={agent.language} />}
        </Field>
      </div>
      <Field label="Tags, separated by commas" path="tags" error={error}>
        {(control) => <input {...control} defaultValue={agent.tags.join(", ")} />}
      </Field>
      <Field label="Welcome message of inbound conversations" path="inboundWelcomeMessage" error={error}>
        {(control) => <textarea {...control} rows={2} defaultValue={agent.inboundWelcomeMessage ?? ""} />}
      </Field>
      <Field label="Welcome message of outbound conversations" path="outboundWelcomeMessage" error={error}>
        {(control) => <textarea {...control} rows={2} defaultValue={agent.outboundWelcomeMessage ?? ""} />}
      </Field>
      <ModelChoice chosen={agent.model} error={error} />
      <label className="check">
        <input type="checkbox" name="transfer" defaultChecked={agent.isCallTransferEnabled} /> May transfer calls to a person
      </label>
      <Field
        label="Data bag fields, one per line; * marks required fields"
        path="fields"
        error={error}
        names={names}
        hint={`The system fills ${agent.fields.filter((f) => f.isSystem).map((f) => f.name).join(", ") || "none"}.`}
      >
        {(control) => <textarea {...control} rows={6} className="mono" defaultValue={ownFields(agent)} />}
      </Field>
    </>
  );
}

/** The agent's language model. Without a list of models there is nothing to choose. */
function ModelChoice({ chosen, error }: { chosen: string | null; error: CombinedError | undefined }) {
  const [{ data }] = useQuery({ query: ModelsQuery, requestPolicy: "cache-first" });
  if (!data) return <input type="hidden" name="model" value={chosen ?? ""} />;
  const { model, models } = data.server;
  if (models.length === 0 && chosen === null) return null;
  const isMissing = chosen !== null && !models.some(({ name }) => name === chosen);
  return (
    <Field label="Language model" path="model" error={error} hint={isMissing && "The server no longer has this model. Choose another one."}>
      {(control) => (
        <select {...control} defaultValue={chosen ?? ""}>
          <option value="">The default, {model}</option>
          {isMissing && <option>{chosen}</option>}
          {models.map(({ name, provider }) => (
            <option key={name} value={name}>
              {name} ({provider})
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

type Values = Omit<Changes, "agentId" | "expectedUpdatedAt">;

/** The fields that are not the system's, one per line. */
function ownFields(agent: AgentOfPage): string {
  return agent.fields.filter((f) => !f.isSystem).map((f) => f.name + (f.isMandatory ? "*" : "")).join("\n");
}

function valuesOf(agent: AgentOfPage): Values {
  return {
    name: agent.name,
    channel: agent.channel,
    direction: agent.direction,
    language: agent.language,
    tags: agent.tags,
    inboundWelcomeMessage: agent.inboundWelcomeMessage ?? "",
    outboundWelcomeMessage: agent.outboundWelcomeMessage ?? "",
    isCallTransferEnabled: agent.isCallTransferEnabled,
    model: agent.model ?? "",
    fields: fieldsOf(agent, ownFields(agent)),
    classificationTags: agent.classificationTags,
    extractedValues: agent.extractedValues,
  };
}

function readValues(form: FormData, agent: AgentOfPage): Values {
  const text = (name: string) => String(form.get(name)).trim();
  return {
    name: text("name"),
    channel: text("channel") as AgentOfPage["channel"],
    direction: text("direction") as AgentOfPage["direction"],
    language: text("language"),
    tags: text("tags").split(",").map((tag) => tag.trim()).filter(Boolean),
    inboundWelcomeMessage: text("inboundWelcomeMessage"),
    outboundWelcomeMessage: text("outboundWelcomeMessage"),
    isCallTransferEnabled: form.get("transfer") === "on",
    model: String(form.get("model") ?? agent.model ?? ""),
    fields: fieldsOf(agent, text("fields")),
  };
}

/** The fields of the form, and the system's, which stay. */
function fieldsOf(agent: AgentOfPage, written: string): Values["fields"] {
  const lines = written.split("\n").map((line) => line.trim()).filter(Boolean);
  return [
    ...lines.map((line) => ({ name: line.replace(/\*$/, ""), isMandatory: line.endsWith("*") })),
    ...agent.fields.filter((f) => f.isSystem).map((f) => ({ name: f.name, isMandatory: f.isMandatory, isSystem: true })),
  ];
}

function inWords(agent: AgentOfPage): Record<string, string> {
  return {
    Name: agent.name,
    Channel: agent.channel,
    Direction: agent.direction,
    Language: agent.language,
    Tags: agent.tags.join(", "),
    "Inbound welcome": agent.inboundWelcomeMessage ?? "",
    "Outbound welcome": agent.outboundWelcomeMessage ?? "",
    Model: agent.model ?? "the default",
    Transfer: agent.isCallTransferEnabled ? "to a person" : "none",
    Fields: agent.fields.map((field) => field.name + (field.isMandatory ? "*" : "")).join("\n"),
    "Extracted data": [...agent.classificationTags, ...agent.extractedValues].map(({ name, definition }) => `${name}: ${definition}`).join("\n"),
  };
}
