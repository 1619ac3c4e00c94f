import type { CombinedError } from "@urql/core";
import type { ReactNode } from "react";
import { may } from "../../ui/Act";
import { Field } from "../../ui/Field";
import { Icon } from "../../ui/Icon";
import type { AgentOfPage } from "./query";

type Tag = AgentOfPage["classificationTags"][number];
type Value = AgentOfPage["extractedValues"][number];

/** The paths of the faults that the rows of a list show. */
export function rowPaths(list: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => [`${list}.${i}.name`, `${list}.${i}.definition`]).flat();
}

/** The tags and values that are extracted from a conversation. */
export function ExtractedData({ tags, setTags, values, setValues, error }: {
  tags: Tag[];
  setTags: (tags: Tag[]) => void;
  values: Value[];
  setValues: (values: Value[]) => void;
  error: CombinedError | undefined;
}) {
  return (
    <section className="card" aria-labelledby="found-title">
      <header>
        <h2 id="found-title">Extracted data</h2>
      </header>
      <fieldset className="body stack" disabled={!may("write")}>
        <Rows what="tag" path="classificationTags" rows={tags} setRows={setTags} empty={{ name: "", definition: "", isSystem: false }} error={error} />
        <Rows what="value" path="extractedValues" rows={values} setRows={setValues} empty={{ name: "", definition: "", type: "Text" }} error={error}>
          {(value, path, change) => (
            <Field label="Type" path={path} error={error}>
              {(control) => (
                <select {...control} value={value.type} onChange={(event) => change({ ...value, type: event.target.value as Value["type"] })}>
                  <option value="Text">Text</option>
                  <option value="Nom">Name of a person</option>
                </select>
              )}
            </Field>
          )}
        </Rows>
      </fieldset>
    </section>
  );
}

/** Rows with a name and a definition that can be added, changed and removed. */
function Rows<Row extends { name: string; definition: string }>({ what, path, rows, setRows, empty, error, children }: {
  what: string;
  path: string;
  rows: Row[];
  setRows: (rows: Row[]) => void;
  empty: Row;
  error: CombinedError | undefined;
  children?: (row: Row, typePath: string, change: (row: Row) => void) => ReactNode;
}) {
  return (
    <>
      {rows.map((row, i) => {
        const change = (now: Row) => setRows(rows.with(i, now));
        return (
          <div key={i} className="stack tight">
            <div className="row top">
              <Field label={`Name of ${what} ${i + 1}`} path={`${path}.${i}.name`} error={error}>
                {(control) => <input {...control} required maxLength={100} value={row.name} onChange={(event) => change({ ...row, name: event.target.value })} />}
              </Field>
              {children?.(row, `${path}.${i}.type`, change)}
              <button type="button" className="quiet only" aria-label={`Remove ${what} ${row.name || i + 1}`} title="Remove" onClick={() => setRows(rows.toSpliced(i, 1))}>
                <Icon name="close" />
              </button>
            </div>
            <Field label="Definition, for the model" path={`${path}.${i}.definition`} error={error}>
              {(control) => <textarea {...control} rows={2} maxLength={2000} value={row.definition} onChange={(event) => change({ ...row, definition: event.target.value })} />}
            </Field>
          </div>
        );
      })}
      <div>
        <button type="button" onClick={() => setRows([...rows, empty])}>
          Add {what}
        </button>
      </div>
    </>
  );
}
