import { checkOf, type Check, type CheckRow } from "./checks";

export interface Persona {
  mood?: string;
  patience?: number;
  language?: string;
  knowledge?: string;
}

/** The values of a test's form. The optional ones depend on the test's kind and on the key's scopes. */
export interface TestValues {
  name: string;
  /** Empty at the root. */
  folderId: string;
  scenario?: string;
  criteria?: string[];
  /** The weights of the criteria at the same positions; null if a criterion is required. */
  criteriaWeights?: (number | null)[];
  checks?: Check[];
  passAt?: number;
  judgeSees?: string[];
  persona?: Persona;
  /** The contact's scripted messages; null where its model speaks. */
  contactSays?: (string | null)[];
  maxTurns?: number;
  variables?: Record<string, unknown>;
  tagExpected?: string;
}

/** A value as text: texts as they are, anything else as JSON. */
export function shownValue(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Reads the form. Variables that it does not show, or that were not edited, are unchanged. */
export function readValues(form: FormData, before: TestValues): TestValues {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  const values: TestValues = { name: text("name"), folderId: text("folderId") };
  if (before.tagExpected !== undefined) values.tagExpected = text("tagExpected");
  if (before.scenario !== undefined) {
    values.scenario = text("scenario");
    values.criteria = linesOf(text("criteria"));
    values.maxTurns = Number(text("maxTurns"));
    readVerdicts(form, before, values);
  }
  if (before.persona) values.persona = readPersona(text);
  if (before.contactSays) {
    values.contactSays = form.has("contactSays") ? linesOf(text("contactSays")).map((line) => (line === "–" ? null : line)) : before.contactSays;
  }
  if (before.variables) values.variables = readVariables(form, before.variables);
  return values;
}

/** The lines of a text that are not empty. */
export function linesOf(text: string): string[] {
  return text.split("\n").map((line) => line.trim()).filter(Boolean);
}

/** The weights by criterion after an edit: a criterion that was rewritten keeps its weight. */
export function weightsAfter<Weight>(weights: Record<string, Weight>, before: readonly string[], after: readonly string[]): Record<string, Weight> {
  if (before.length !== after.length) return weights;
  const rewritten = after.flatMap((criterion, i) => {
    const weight = weights[before[i] ?? ""];
    return weight === undefined || criterion === before[i] || criterion in weights ? [] : [[criterion, weight] as const];
  });
  return { ...weights, ...Object.fromEntries(rewritten) };
}

/** Reads the criteria and checks. An invalid check is left out: its row shows the fault. */
function readVerdicts(form: FormData, before: TestValues, values: TestValues): void {
  if (before.criteriaWeights) values.criteriaWeights = JSON.parse(String(form.get("criteriaWeights") ?? "[]")) as (number | null)[];
  if (before.checks) values.checks = (JSON.parse(String(form.get("checks") ?? "[]")) as CheckRow[]).flatMap((row) => checkOf(row) ?? []);
  if (before.passAt !== undefined) values.passAt = Number(form.get("passAt") || 1);
  if (before.judgeSees) values.judgeSees = form.getAll("judgeSees").map(String);
}

function readPersona(text: (name: string) => string): Persona {
  const persona: Persona = {};
  for (const name of ["mood", "language", "knowledge"] as const) if (text(`persona.${name}`)) persona[name] = text(`persona.${name}`);
  if (text("persona.patience")) persona.patience = Number(text("persona.patience"));
  return persona;
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

/** The values as text, by their labels. */
export function inWords(values: TestValues, folders: readonly { id: string; name: string }[]): Record<string, string> {
  return {
    Name: values.name,
    Tag: values.tagExpected ?? "",
    "Scenario": values.scenario ?? "",
    Criteria: values.criteria?.join("\n") ?? "",
    Weights: (values.criteriaWeights ?? []).map((weight) => weight ?? "required").join(", "),
    Checks: (values.checks ?? []).map((check) => JSON.stringify(check)).join("\n"),
    "Minimum score": String(values.passAt ?? ""),
    "The judge also sees": (values.judgeSees ?? []).join(", "),
    "Persona": Object.entries(values.persona ?? {}).map(([name, value]) => `${name}: ${String(value)}`).join("\n"),
    "Scripted messages": (values.contactSays ?? []).map((said) => said ?? "–").join("\n"),
    "Maximum turns": String(values.maxTurns ?? ""),
    "Data bag": Object.entries(values.variables ?? {}).map(([name, value]) => `${name}: ${shownValue(value)}`).join("\n"),
    Folder: folders.find((folder) => folder.id === values.folderId)?.name ?? "",
  };
}
