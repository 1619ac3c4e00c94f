/** A check as the API reads and writes it. */
export interface Check {
  expect: Record<string, unknown>;
  weight: number | null;
}

/** A check as a row of the form: its kind, its main value as text, and all other members as JSON. */
export interface CheckRow {
  kind: string;
  value: string;
  more: string;
  weight: number | null;
}

interface Kind {
  label: string;
  /** The label of the main value. */
  value: string;
  /** The member that is the main value; absent if the expectation is the value itself. */
  member?: string;
  isNumber?: boolean;
  options?: readonly string[];
  /** An example of further members. */
  more?: string;
}

/** The kinds of checks, by their names in the API. */
export const checkKinds: Record<string, Kind> = {
  called: { label: "Calls", value: "Technical name", member: "technicalName", more: '{"succeeded": true, "max": 1, "before": "book", "where": [{"argument": "day", "equals": "Monday"}]}' },
  neverCalled: { label: "Never calls", value: "Technical name", member: "technicalName", more: '{"kind": "CallTransfer"}' },
  says: { label: "Says", value: "Text", member: "text", more: '{"role": "user", "turn": 0} or {"matches": "…"}' },
  neverSays: { label: "Never says", value: "Text", member: "text", more: '{"matches": "(?i)refund|discount"}' },
  endedBy: { label: "Ended by", value: "By", options: ["Agent", "Contact", "Limit"] },
  tag: { label: "Gets the tag", value: "Tag" },
  turnsAtMost: { label: "Maximum turns", value: "Turns", isNumber: true },
  firstTokenAtMost: { label: "Seconds to the first text", value: "Seconds", isNumber: true },
  durationAtMost: { label: "Maximum seconds", value: "Seconds", isNumber: true },
  creditsAtMost: { label: "Maximum credits", value: "Credits", isNumber: true },
  extracts: { label: "Extracts", value: "Name of the value", member: "name", more: '{"equals": "Monday"} or {"matches": "(?i)mon"}' },
  resultJson: { label: "Result matches a schema", value: "Technical name", member: "technicalName", more: '{"schema": {"type": "object"}}' },
};

/** The further members of a new check of a kind, as JSON. */
export function initialMore(kind: string): string {
  return kind === "called" ? '{"succeeded":true}' : "";
}

/** The default values of members. */
const usual: Record<string, unknown> = { min: 1, role: "assistant", succeeded: false };

export function rowOf({ expect, weight }: Check): CheckRow {
  const [kind = "says", given] = Object.entries(expect).find(([, value]) => value !== null && value !== undefined) ?? [];
  const { member } = checkKinds[kind] ?? {};
  if (!member) return { kind, value: String(given ?? ""), more: "", weight };
  const { [member]: value, ...rest } = given as Record<string, unknown>;
  const told = Object.entries(rest).filter(([name, each]) => each !== null && each !== usual[name] && !(Array.isArray(each) && each.length === 0));
  return { kind, value: String(value ?? ""), more: told.length > 0 ? JSON.stringify(withoutNulls(Object.fromEntries(told))) : "", weight };
}

/** The check of a row; undefined if its JSON or its number is invalid. */
export function checkOf({ kind, value, more, weight }: CheckRow): Check | undefined {
  const of = checkKinds[kind];
  if (!of) return undefined;
  if (!of.member) {
    if (of.isNumber && (value.trim() === "" || Number.isNaN(Number(value)))) return undefined;
    return { expect: { [kind]: of.isNumber ? Number(value) : value }, weight };
  }
  try {
    const rest: unknown = more.trim() ? JSON.parse(more) : {};
    if (typeof rest !== "object" || rest === null || Array.isArray(rest)) return undefined;
    return { expect: { [kind]: { ...(value ? { [of.member]: value } : {}), ...rest } }, weight };
  } catch {
    return undefined;
  }
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null).map(([name, each]) => [name, withoutNulls(each)]));
}
