import { useState, type ChangeEvent, type FormEvent } from "react";
import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import { technicalName } from "../../logic/names";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";
import type { AgentOfPage } from "./query";

const CreateTool = graphql(`
  mutation CreateTool($input: CreateToolInput!) {
    createTool(input: $input) { tool { id name } }
  }
`);
const UpdateTool = graphql(`
  mutation UpdateTool($input: UpdateToolInput!) {
    updateTool(input: $input) { tool { id name technicalName description parameters endpoint { method url headerNames timeoutSeconds } mcpServer { id name } mcpName missingSince approval } }
  }
`);

export type ToolOfPage = AgentOfPage["tools"][number];

const shown = ["name", "technicalName", "description", "parameters", "approval", "endpoint.url", "endpoint.method"];

const noArguments = { type: "object", properties: {} };

/** Changes a tool, or creates one. `onSaved` receives its id. */
export function ToolForm({ tool, onSaved, onClose }: { tool?: ToolOfPage; onSaved: (toolId: string) => void; onClose: () => void }) {
  const create = useAction(CreateTool);
  const update = useAction(UpdateTool);
  const { error, isBusy } = tool ? update : create;
  const [name, setName] = useState(tool?.name ?? "");
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const values = valuesIn(new FormData(event.currentTarget), tool);
    if (tool) {
      const saved = await update.run({ input: { toolId: tool.id, ...values, removeEndpoint: !tool.mcpServer && !values.endpoint } });
      if (saved?.updateTool) onSaved(tool.id);
    } else {
      const saved = await create.run({ input: values });
      if (saved?.createTool) onSaved(saved.createTool.tool.id);
    }
  };
  const secrets = tool?.endpoint?.headerNames.length ? `The headers ${tool.endpoint.headerNames.join(", ")} stay as they are.` : "Set secret headers through the API.";
  return (
    <Dialog title={tool ? `Tool ${tool.name}` : "New tool"} onClose={onClose} isWide>
      <form className="stack" onSubmit={submit}>
        <div className="row top">
          <Field label="Name" path="name" error={error}>
            {(control) => <input {...control} required autoFocus value={name} onChange={(event) => setName(event.target.value)} />}
          </Field>
          <Field label="Name for the model" path="technicalName" error={error}>
            {(control) => (
              <input {...control} key={tool ? "" : name} required className="mono" pattern="[a-z][a-z0-9_]*" defaultValue={tool?.technicalName ?? technicalName(name)} />
            )}
          </Field>
        </div>
        <Field label="Description for the model" path="description" error={error}>
          {(control) => <textarea {...control} rows={2} required defaultValue={tool?.description ?? ""} />}
        </Field>
        <Field label="Approval" path="approval" error={error} hint="Mocked calls need none.">
          {(control) => (
            <select {...control} defaultValue={tool?.approval ?? "Auto"}>
              <option value="Auto">Not needed</option>
              <option value="Ask">A person approves each call</option>
              <option value="Deny">All calls are denied</option>
            </select>
          )}
        </Field>
        {tool?.mcpServer ? (
          <p className="muted">
            The MCP server {tool.mcpServer.name} gives the arguments of <code>{tool.mcpName}</code>.
          </p>
        ) : (
        <>
        <Field label="Arguments, as a JSON Schema" path="parameters" error={error}>
          {(control) => <textarea {...control} rows={8} className="mono" spellCheck={false} required defaultValue={written(tool?.parameters ?? noArguments)} onChange={checkObject} />}
        </Field>
        <div className="row top">
          <Field label="Method" path="endpoint.method" error={error}>
            {(control) => (
              <select {...control} defaultValue={tool?.endpoint?.method ?? "POST"}>
                {["GET", "POST", "PUT", "PATCH", "DELETE"].map((method) => (
                  <option key={method}>{method}</option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Endpoint URL" path="endpoint.url" error={error} hint={`If empty, the tool can only be mocked. ${secrets}`}>
            {(control) => <input {...control} type="text" inputMode="url" size={40} placeholder="https://" defaultValue={tool?.endpoint?.url ?? ""} />}
          </Field>
        </div>
        </>
        )}
        <FormFailure error={error} shown={shown} />
        <div>
          <button type="submit" className="primary" disabled={isBusy}>
            {tool ? "Save tool" : "Create and connect"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function valuesIn(form: FormData, tool: ToolOfPage | undefined) {
  const text = (name: string) => String(form.get(name)).trim();
  const own = {
    name: text("name"),
    technicalName: text("technicalName"),
    description: text("description"),
    approval: text("approval") as "Auto",
  };
  if (tool?.mcpServer) return { ...own, endpoint: undefined };
  const url = text("endpoint.url");
  return {
    ...own,
    parameters: JSON.parse(text("parameters")) as Record<string, unknown>,
    endpoint: url ? { url, method: text("endpoint.method") as "POST", timeoutSeconds: tool?.endpoint?.timeoutSeconds ?? 10 } : undefined,
  };
}

/** A value as indented JSON. */
export function written(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** Marks a field whose text is not a JSON object. */
export function checkObject({ currentTarget }: ChangeEvent<HTMLTextAreaElement>): void {
  currentTarget.setCustomValidity(isObject(currentTarget.value) ? "" : "This is not a JSON object.");
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
