import type { CombinedError } from "@urql/core";
import { Field, type Control } from "../../ui/Field";

/** A test as its form holds it. Which of the optional values there are depends on its kind, and on what the key may read. */
export interface TestValues {
  name: string;
  /** Empty at the root. */
  folderId: string;
  scenario?: string;
  criteria?: string[];
  maxTurns?: number;
  variables?: Record<string, unknown>;
  tagExpected?: string;
}

interface AgentField {
  name: string;
  isMandatory: boolean;
  isSystem: boolean;
}

/** The fields that show their own faults. */
export const shown = ["name", "folderId", "scenario", "criteria", "maxTurns", "variables", "tagExpected"];

/** The controls of a test. */
export function TestFields({ values, agent, isNew, hasChecks, error }: {
  values: TestValues;
  agent: { fields: readonly AgentField[]; testFolders: readonly { id: string; name: string }[] };
  isNew?: boolean;
  /** Then it needs no criteria. */
  hasChecks?: boolean;
  error: CombinedError | undefined;
}) {
  return (
    <>
      <Field label="Name" path="name" error={error}>
        {(control) => <input {...control} required defaultValue={values.name} autoFocus={isNew} />}
      </Field>
      {values.tagExpected !== undefined && (
        <Field label="The tag that the conversation must get" path="tagExpected" error={error}>
          {(control) => <input {...control} required defaultValue={values.tagExpected} />}
        </Field>
      )}
      {values.scenario !== undefined && <Simulated values={values} hasChecks={hasChecks} error={error} />}
      {values.variables && <Variables values={values.variables} fields={agent.fields} error={error} />}
      <Field label="Folder" path="folderId" error={error}>
        {(control) => <FolderChoice control={control} folders={agent.testFolders} chosen={values.folderId} />}
      </Field>
    </>
  );
}

export function FolderChoice({ control, folders, chosen }: { control: Control; folders: readonly { id: string; name: string }[]; chosen?: string }) {
  return (
    <select {...control} defaultValue={chosen}>
      <option value="">No folder</option>
      {folders.map((folder) => (
        <option key={folder.id} value={folder.id}>
          {folder.name}
        </option>
      ))}
    </select>
  );
}

/** Criteria that need no model to be judged. */
export function CriteriaHint() {
  return (
    <>
      Such as <code>says "two hours"</code>, <code>never says "refund"</code>, <code>calls book_appointment</code>.
    </>
  );
}

function Simulated({ values, hasChecks, error }: { values: TestValues; hasChecks: boolean | undefined; error: CombinedError | undefined }) {
  return (
    <>
      <Field label="What the contact does" path="scenario" error={error}>
        {(control) => <textarea {...control} required rows={5} defaultValue={values.scenario} />}
      </Field>
      <Field label="What must hold, one criterion in a line" path="criteria" error={error} hint={<CriteriaHint />}>
        {(control) => <textarea {...control} required={!hasChecks} rows={4} defaultValue={values.criteria?.join("\n")} />}
      </Field>
      <Field label="Turns at most" path="maxTurns" error={error}>
        {(control) => <input {...control} type="number" min={1} max={30} required defaultValue={values.maxTurns} />}
      </Field>
    </>
  );
}

/** What the agent knows of the contact. It is open where the agent needs something. */
function Variables({ values, fields, error }: { values: Record<string, unknown>; fields: readonly AgentField[]; error: CombinedError | undefined }) {
  const own = fields.filter((field) => !field.isSystem);
  if (own.length === 0) return null;
  return (
    <details open={own.some((field) => field.isMandatory)}>
      <summary>What the agent knows of the contact</summary>
      <div className="stack">
        {own.map(({ name, isMandatory }) => (
          <Field key={name} label={isMandatory ? `${name} (needed)` : name} path={`variables.${name}`} error={error}>
            {(control) => <input {...control} autoComplete="off" defaultValue={shownValue(values[name])} />}
          </Field>
        ))}
      </div>
    </details>
  );
}

/** A value as text: texts as they are, anything else as JSON. */
function shownValue(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Reads the form back. Variables that it does not show, or that were not touched, stay what they are. */
export function readValues(form: FormData, before: TestValues): TestValues {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  const values: TestValues = { name: text("name"), folderId: text("folderId") };
  if (before.tagExpected !== undefined) values.tagExpected = text("tagExpected");
  if (before.scenario !== undefined) {
    values.scenario = text("scenario");
    values.criteria = text("criteria").split("\n").map((line) => line.trim()).filter(Boolean);
    values.maxTurns = Number(text("maxTurns"));
  }
  if (before.variables) values.variables = readVariables(form, before.variables);
  return values;
}

const variable = "variables.";

function readVariables(form: FormData, before: Record<string, unknown>): Record<string, unknown> {
  const variables = { ...before };
  for (const [path, entry] of form) {
    const name = path.slice(variable.length);
    if (!path.startsWith(variable) || entry === shownValue(before[name])) continue;
    if (entry === "") delete variables[name];
    else variables[name] = entry;
  }
  return variables;
}

/** The values in words, by their labels. */
export function inWords(values: TestValues, folders: readonly { id: string; name: string }[]): Record<string, string> {
  return {
    Name: values.name,
    Tag: values.tagExpected ?? "",
    "What the contact does": values.scenario ?? "",
    "What must hold": values.criteria?.join("\n") ?? "",
    "Turns at most": String(values.maxTurns ?? ""),
    "What the agent knows": Object.entries(values.variables ?? {}).map(([name, value]) => `${name}: ${shownValue(value)}`).join("\n"),
    Folder: folders.find((folder) => folder.id === values.folderId)?.name ?? "",
  };
}
