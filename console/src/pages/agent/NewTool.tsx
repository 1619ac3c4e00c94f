import { useState, type FormEvent } from "react";
import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import { technicalName } from "../../logic/names";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";

const CreateTool = graphql(`
  mutation CreateTool($input: CreateToolInput!) {
    createTool(input: $input) { tool { id name } }
  }
`);

const shown = ["name", "technicalName", "description", "parameters", "endpoint.url", "endpoint.method"];

const noArguments = '{\n  "type": "object",\n  "properties": {}\n}';

/** Creates a tool of the company, to be connected to the agent. */
export function NewTool({ onMade, onClose }: { onMade: (toolId: string) => void; onClose: () => void }) {
  const create = useAction(CreateTool);
  const [name, setName] = useState("");
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name)).trim();
    const url = text("endpoint.url");
    const made = await create.run({
      input: {
        name: text("name"),
        technicalName: text("technicalName"),
        description: text("description"),
        parameters: JSON.parse(text("parameters")) as Record<string, unknown>,
        endpoint: url ? { url, method: text("endpoint.method") as "POST" } : undefined,
      },
    });
    if (made?.createTool) onMade(made.createTool.tool.id);
  };
  return (
    <Dialog title="New tool" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field label="Name" path="name" error={create.error}>
          {(control) => <input {...control} required autoFocus value={name} onChange={(event) => setName(event.target.value)} />}
        </Field>
        <Field label="Name for the model" path="technicalName" error={create.error}>
          {(control) => <input {...control} key={name} required className="mono" pattern="[a-z][a-z0-9_]*" defaultValue={technicalName(name)} />}
        </Field>
        <Field label="Description for the model" path="description" error={create.error}>
          {(control) => <textarea {...control} rows={2} required />}
        </Field>
        <Field label="Arguments, as a JSON Schema" path="parameters" error={create.error}>
          {(control) => (
            <textarea
              {...control}
              rows={5}
              className="mono"
              spellCheck={false}
              required
              defaultValue={noArguments}
              onChange={({ currentTarget }) => currentTarget.setCustomValidity(isObject(currentTarget.value) ? "" : "This is not a JSON object.")}
            />
          )}
        </Field>
        <div className="row top">
          <Field label="Method" path="endpoint.method" error={create.error}>
            {(control) => (
              <select {...control} defaultValue="POST">
                {["GET", "POST", "PUT", "PATCH", "DELETE"].map((method) => (
                  <option key={method}>{method}</option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Endpoint URL" path="endpoint.url" error={create.error} hint="If empty, the tool can only be mocked. Set secret headers through the API.">
            {(control) => <input {...control} type="url" size={30} placeholder="https://" />}
          </Field>
        </div>
        <FormFailure error={create.error} shown={shown} />
        <div>
          <button type="submit" className="primary" disabled={create.isBusy}>
            Create and connect
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
