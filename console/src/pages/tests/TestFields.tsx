import type { CombinedError } from "@urql/core";
import { useState } from "react";
import { rowOf } from "../../logic/checks";
import { shownValue, type TestValues } from "../../logic/testValues";
import { Field, type Control } from "../../ui/Field";
import { CheckRows } from "./CheckRows";
import { ContactFields, JudgeSees } from "./ContactFields";
import { CriteriaFields, type Suggestion } from "./CriteriaFields";

interface AgentField {
  name: string;
  isMandatory: boolean;
  isSystem: boolean;
}

/** The fields that show their own faults. */
export const shown = ["name", "folderId", "scenario", "criteria", "passAt", "checks", "persona", "contactSays", "maxTurns", "variables", "tagExpected"];

/** The controls of a test. */
export function TestFields({ values, suggested = [], agent, isNew, error }: {
  values: TestValues;
  /** Checks that could replace criteria. */
  suggested?: readonly Suggestion[];
  agent: { fields: readonly AgentField[]; testFolders: readonly { id: string; name: string }[] };
  isNew?: boolean;
  error: CombinedError | undefined;
}) {
  return (
    <>
      <Field label="Name" path="name" error={error}>
        {(control) => <input {...control} required defaultValue={values.name} autoFocus={isNew} />}
      </Field>
      {values.tagExpected !== undefined && (
        <Field label="Expected tag" path="tagExpected" error={error}>
          {(control) => <input {...control} required defaultValue={values.tagExpected} />}
        </Field>
      )}
      {values.scenario !== undefined && <Simulated values={values} suggested={suggested} error={error} />}
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

function Simulated({ values, suggested, error }: { values: TestValues; suggested: readonly Suggestion[]; error: CombinedError | undefined }) {
  const [checks, setChecks] = useState(() => values.checks?.map(rowOf));
  return (
    <>
      <Field label="Scenario" path="scenario" error={error}>
        {(control) => <textarea {...control} required rows={5} defaultValue={values.scenario} />}
      </Field>
      <ContactFields values={values} error={error} />
      <CriteriaFields values={values} suggested={checks ? suggested : []} accept={(rows) => setChecks([...(checks ?? []), ...rows])} error={error} />
      {checks && <CheckRows rows={checks} setRows={setChecks} error={error} />}
      {values.judgeSees && <JudgeSees chosen={values.judgeSees} />}
      <Field label="Maximum turns" path="maxTurns" error={error}>
        {(control) => <input {...control} type="number" min={1} max={30} required defaultValue={values.maxTurns} />}
      </Field>
    </>
  );
}

/** The data bag. Open if the agent needs a value. */
function Variables({ values, fields, error }: { values: Record<string, unknown>; fields: readonly AgentField[]; error: CombinedError | undefined }) {
  const own = fields.filter((field) => !field.isSystem);
  if (own.length === 0) return null;
  return (
    <details open={own.some((field) => field.isMandatory)}>
      <summary>Data bag</summary>
      <div className="stack">
        {own.map(({ name, isMandatory }) => (
          <Field key={name} label={isMandatory ? `${name} (required)` : name} path={`variables.${name}`} error={error}>
            {(control) => <input {...control} autoComplete="off" defaultValue={shownValue(values[name])} />}
          </Field>
        ))}
      </div>
    </details>
  );
}
