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

/** A value as text: texts as they are, anything else as JSON. */
export function shownValue(value: unknown): string {
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
