import { readCSV } from "./csv";

/** A row that a test is run with. */
export interface TestRow {
  name?: string | null;
  values: Record<string, unknown>;
}

/** The column that names rows. */
const rowColumn = "row";

const mostRows = 500;

/** Reads rows from a file: JSON lines if its name ends in .jsonl or .ndjson, otherwise CSV. */
export function readRows(fileName: string, text: string): TestRow[] {
  const rows = /\.(jsonl|ndjson)$/i.test(fileName) ? rowsOfLines(text) : rowsOfCSV(text);
  if (rows.length === 0) throw new Error("This file has no rows: the first line of CSV names the values, and each further line is a row.");
  if (rows.length > mostRows) throw new Error(`This file has ${rows.length} rows. A test can have at most ${mostRows}.`);
  return rows;
}

function rowsOfCSV(text: string): TestRow[] {
  const [first, ...records] = readCSV(text);
  const names = first?.values.map((name) => name.trim()) ?? [];
  const double = names.find((name, i) => names.indexOf(name) < i);
  if (double !== undefined) throw new Error(`The file has two columns "${double}". Rename or delete one of them.`);
  return records.map((record) => {
    if (record.values.length !== names.length) throw new Error(`Line ${record.line} has a different number of values than the first line.`);
    return rowOf(Object.fromEntries(names.map((name, i) => [name, record.values[i]])));
  });
}

function rowsOfLines(text: string): TestRow[] {
  return text.split("\n").flatMap((line, i) => {
    if (line.trim() === "") return [];
    try {
      const values: unknown = JSON.parse(line);
      if (typeof values === "object" && values !== null && !Array.isArray(values)) return [rowOf(values as Record<string, unknown>)];
    } catch {
      // The error below reports it.
    }
    throw new Error(`Line ${i + 1} is not a JSON object.`);
  });
}

function rowOf({ [rowColumn]: name, ...values }: Record<string, unknown>): TestRow {
  return typeof name === "string" && name !== "" ? { name, values } : { values: name === undefined || name === "" ? values : { [rowColumn]: name, ...values } };
}

/** The name of a test or run, with its row's name or number if it has one. */
export function inRow(testName: string, row: { rowName?: string | null; rowNumber?: number | null }): string {
  if (row.rowName) return `${testName} (${row.rowName})`;
  return row.rowNumber ? `${testName} (row ${row.rowNumber})` : testName;
}
