import { plural } from "../ui/format";

/** A change of a prompt, as far as the key may see it. */
export interface Change {
  number: number;
  before?: string | null;
  after?: string | null;
}

export interface Step {
  restored: readonly number[];
  judged: number | null;
  passed: number | null;
}

interface Search {
  status: string;
  verdict: string | null;
  error: string | null;
  isOnlyCause: boolean | null;
  steps: readonly Step[];
}

interface Versions {
  good: number;
  bad: number;
}

/** The sentence or the sentences of changes, without list markers. */
export function sentencesOf(changes: readonly Change[]): string {
  const texts = changes.map(({ number, before, after }) => withoutMark(before ?? after ?? `Change ${number}`));
  return texts.join(" ");
}

/** A sentence without its list marker. */
export function withoutMark(sentence: string): string {
  return sentence.replace(/^\s*(?:[-*+]|\d+[.)])\s+/, "");
}

/** "One lost sentence", "2 changes". */
export function nounOf(changes: readonly Change[]): string {
  const [one] = changes;
  if (!one || changes.length > 1) return plural(changes.length, "change");
  const isHidden = one.before === undefined && one.after === undefined;
  return isHidden ? "One change" : `One ${one.after === null ? "lost" : one.before === null ? "added" : one.after === one.before ? "moved" : "rewritten"} sentence`;
}

/** "2 of 20": the draft runs with all changes restored. */
function wholeOf({ steps }: Search, changes: readonly Change[]): string {
  const whole = steps.filter(({ restored }) => restored.length === changes.length);
  const sum = (key: "passed" | "judged") => whole.reduce((total, step) => total + (step[key] ?? 0), 0);
  return `${sum("passed")} of ${sum("judged")}`;
}

/** The headline of the page and its explanation: what broke the test, as far as it is known. */
export function newsOf(changes: readonly Change[], suspects: readonly Change[], cause: readonly Change[], search: Search | undefined, { good, bad }: Versions): { title: string; text: string } {
  const between = `between prompt v${good} and v${bad}`;
  if (search?.status === "Running") return { title: "Searching for the cause", text: `Draft runs of v${bad}, with some of its ${plural(changes.length, "change")} restored, show which one broke the test.` };
  if (search?.status === "Failed") return { title: "The search could not continue", text: search.error ?? "" };
  switch (search?.verdict) {
    case "Found": {
      const others = search.isOnlyCause === null ? "" : search.isOnlyCause ? " No other change does." : " Restoring other changes repairs the test, too.";
      const together = cause.length > 1 ? " together" : "";
      return { title: `${nounOf(cause)}${together} broke this test`, text: `${cause.length > 1 ? "Restoring them" : cause[0]?.before === null ? "Removing it" : "Restoring it"} in v${bad} repairs the test.${others}` };
    }
    case "NotExplained":
      return {
        title: "The prompt is not the cause, or not alone",
        text: `With the whole prompt v${good} restored, ${wholeOf(search, changes)} draft runs passed. Check sub-agents, models, tools, documents and the test, changed since.`,
      };
    case "NotReproduced":
      return { title: "The test passes again", text: `Prompt v${bad} passes now. The failure may have been chance, or its cause is repaired.` };
    case "Undecided":
      return {
        title: "The cause is not decided",
        text: cause.length > 0 ? `Restoring ${plural(cause.length, "change")} repairs the test, but fewer may be enough.` : "The results of the draft runs are too mixed to tell changes apart.",
      };
  }
  if (changes.length === 0) return { title: "The words of the prompt did not change", text: `It passed and failed with ${good === bad ? `the same prompt, v${bad}` : `prompts that say the same, v${good} and v${bad}`}. Check sub-agents, models, tools, documents and the test, changed since.` };
  const canceled = search?.status === "Cancelled" ? " The search was canceled." : "";
  if (suspects.length === 1) return { title: `${nounOf(suspects)} may have broken this test`, text: `It is the only one of ${plural(changes.length, "change")} ${between} that concerns the failed check.${canceled}` };
  return { title: `${plural(changes.length, "change")} may have broken this test`, text: `The prompt changed ${between}.${canceled}` };
}

/** What a step of a search restored, for a list in which the cause comes first. */
export interface ProofRow<S> {
  step: S;
  text: string;
  isCause: boolean;
}

/** The steps of a search, the cause first, with the restored changes in words. */
export function proofRows<S extends Step>(steps: readonly S[], changes: readonly Change[], cause: readonly Change[], { good, bad }: Versions): ProofRow<S>[] {
  const causes = new Set(cause.map(({ number }) => number));
  const rows = steps.map((step) => {
    const restored = new Set(step.restored);
    const those = changes.filter(({ number }) => restored.has(number));
    const isCause = cause.length > 0 && cause.length === those.length && those.every(({ number }) => causes.has(number));
    if (isCause || (those.length === 1 && changes.length > 1)) return { step, isCause, text: sentencesOf(those) };
    if (those.length === changes.length) return { step, isCause, text: `All ${plural(changes.length, "change")}, as in v${good}` };
    if (those.length === 0) return { step, isCause, text: `None, as in v${bad}` };
    const isRest = cause.length > 0 && cause.length + those.length === changes.length && !those.some(({ number }) => causes.has(number));
    return { step, isCause, text: isRest ? `The ${plural(those.length, "other change")}` : `${those.length} of the changes` };
  });
  return [...rows.filter((row) => row.isCause), ...rows.filter((row) => !row.isCause)];
}

/** The changes around those in focus, or the first ones, and how many are left out. */
export function changesAround<C extends Change>(changes: readonly C[], focus: readonly Change[], most = 8): C[] {
  if (focus.length === 0) return changes.slice(0, most);
  const isNear = (change: Change) => focus.some(({ number }) => Math.abs(number - change.number) <= 1);
  return changes.filter(isNear).slice(0, Math.max(most, focus.length));
}

interface Message {
  role: string;
  text: string;
}

/** The messages of a run from the one before the first difference to the agent's next answer. Without a difference, the last ones. */
export function messagesAt<M extends Message>(messages: readonly M[], partsAt: number | null): { index: number; message: M }[] {
  const asked = messages.findLastIndex((message) => message.role === "user");
  const from = Math.max(0, partsAt === null ? asked : partsAt - 1);
  const answer = messages.findIndex((message, i) => i >= (partsAt ?? from) && message.role === "assistant");
  const end = answer < 0 ? messages.length : answer + 1;
  return messages.slice(from, end).map((message, i) => ({ index: from + i, message }));
}
