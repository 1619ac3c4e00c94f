import { useState } from "react";
import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import { decodeText } from "../../logic/encoding";
import { readRows, type TestRow } from "../../logic/rows";
import { Act, may } from "../../ui/Act";
import { ask } from "../../ui/asking";
import { FileDrop } from "../../ui/FileDrop";
import { plural } from "../../ui/format";
import { Failure } from "../../ui/states";

const SaveRows = graphql(`
  mutation SaveRows($input: UpdateAgentTestInput!) {
    updateAgentTest(input: $input) { agentTest { __typename id updatedAt obstacles rows { name values } } }
  }
`);

/** How many rows the preview has. */
const previewed = 5;

/** The rows of a test. They are read from a file and saved immediately. */
export function TestRows({ test, reread, onStored }: {
  test: { id: string; updatedAt: unknown; rows?: unknown };
  reread: () => void;
  /** Receives the test's `updatedAt` before and after the change of its rows. */
  onStored: (from: string, to: string) => void;
}) {
  const save = useAction(SaveRows);
  const [problem, setProblem] = useState("");
  const rows = (test.rows ?? []) as TestRow[];
  const store = async (now: TestRow[]) => {
    const expectedUpdatedAt = test.updatedAt as string;
    const saved = await save.run({ input: { testId: test.id, rows: now, expectedUpdatedAt } });
    if (saved?.updateAgentTest) onStored(expectedUpdatedAt, saved.updateAgentTest.agentTest.updatedAt as string);
    reread();
  };
  const choose = async (file: File | undefined) => {
    setProblem("");
    if (!file) return;
    try {
      await store(readRows(file.name, decodeText(new Uint8Array(await file.arrayBuffer()))));
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const removeAll = async () => {
    const what = plural(rows.length, "row");
    if (await ask({ title: `Remove ${what}?`, text: "The test then runs once, without values from a table. This is saved immediately.", verb: `Remove ${what}`, isDangerous: true })) await store([]);
  };
  if (!may("contacts")) return null;
  return (
    <details open={rows.length > 0}>
      <summary>{rows.length > 0 ? `Run with ${plural(rows.length, "row")}` : "Run with a table of rows"}</summary>
      <div className="stack tight">
        <span className="muted small">
          CSV with the names of the values in its first line, or JSON lines. They fill <code>{"{placeholders}"}</code> of the scenario, criteria, checks,
          mocks and messages; a column <code>row</code> names the row.
        </span>
        {rows.length > 0 && <Preview rows={rows} />}
        <div className="row">
          <FileDrop
            label="File with rows"
            accept=".csv,.tsv,.txt,.jsonl,.ndjson,text/csv"
            disabled={save.isBusy || !may("write")}
            onFiles={([file]) => void choose(file)}
          />
          {rows.length > 0 && (
            <Act scope="write" className="small" disabled={save.isBusy} onClick={() => void removeAll()}>
              Remove rows
            </Act>
          )}
        </div>
        {problem && (
          <p className="note bad" role="alert">
            {problem}
          </p>
        )}
        {save.error && <Failure error={save.error} />}
      </div>
    </details>
  );
}

function Preview({ rows }: { rows: TestRow[] }) {
  const shown = rows.slice(0, previewed);
  const names = [...new Set(shown.flatMap((row) => Object.keys(row.values)))];
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Row</th>
            {names.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row, i) => (
            <tr key={i}>
              <th scope="row">{row.name ?? i + 1}</th>
              {names.map((name) => (
                <td key={name}>{typeof row.values[name] === "string" ? row.values[name] : JSON.stringify(row.values[name])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > previewed && <span className="muted small">and {rows.length - previewed} more</span>}
    </div>
  );
}
