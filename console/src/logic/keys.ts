/** The letter after g that leads to each section. */
export const sectionKeys: Record<string, string> = {
  h: "/",
  a: "/agents",
  c: "/chats",
  t: "/tests",
  k: "/knowledge",
  m: "/campaigns",
  u: "/consumption",
  y: "/keys",
  w: "/webhooks",
};

/** How long g waits for its letter, in milliseconds. */
export const patience = 1_500;

export type KeyAction = { go: string } | "help" | "filter" | "wait" | undefined;

/** The action of a key, alone or within `patience` after a g. */
export function actionOf(key: string, isAfterG: boolean): KeyAction {
  const to = isAfterG ? sectionKeys[key] : undefined;
  if (to) return { go: to };
  if (key === "?") return "help";
  if (key === "/") return "filter";
  return key === "g" ? "wait" : undefined;
}

/** Whether the page at the path is a chat. There, single keys are text and never commands. */
export function expectsText(path: string): boolean {
  return /\/chats\/[^/]+$/.test(path);
}

export interface Place {
  to: string;
  text: string;
  /** Other words that find it. */
  synonyms?: string;
}

/** Puts a place before those that were visited earlier, and keeps the last `limit`. */
export function visited(earlier: readonly Place[], place: Place, limit = 8): Place[] {
  return [place, ...earlier.filter((other) => other.to !== place.to)].slice(0, limit);
}
