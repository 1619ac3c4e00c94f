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

/** The pages of objects, by the prefixes of their ids. */
const pathsOfIds: Record<string, string> = {
  agent: "/agents",
  simchat: "/chats",
  run: "/runs",
  campaign: "/campaigns",
  dataset: "/knowledge/datasets",
  document: "/knowledge/documents",
  kbchat: "/knowledge/chats",
};

/** The page of an object, if the text is its whole id. */
export function placeOfId(text: string): Place | undefined {
  const [id, prefix = ""] = /^([a-z]+)_[0-9a-hjkmnp-tv-z]{26}$/.exec(text.trim()) ?? [];
  const path = pathsOfIds[prefix];
  return id && path ? { to: `${path}/${id}`, text: `Open ${id}` } : undefined;
}

export interface Place {
  to: string;
  text: string;
}

/** At most `limit` places whose names contain all words of the text. Names that begin with it come first. */
export function found<P extends Place>(places: readonly P[], text: string, limit: number): P[] {
  const plain = simple(text);
  const words = plain.split(/\s+/).filter(Boolean);
  return places
    .map((place) => ({ place, name: simple(place.text) }))
    .filter(({ name }) => words.every((word) => name.includes(word)))
    .toSorted((a, b) => Number(b.name.startsWith(plain)) - Number(a.name.startsWith(plain)))
    .slice(0, limit)
    .map(({ place }) => place);
}

function simple(text: string): string {
  return text.trim().toLowerCase().normalize("NFD").replace(/\p{Mark}/gu, "");
}

/** Puts a place before those that were visited earlier, and keeps the last `limit`. */
export function visited(earlier: readonly Place[], place: Place, limit = 8): Place[] {
  return [place, ...earlier.filter((other) => other.to !== place.to)].slice(0, limit);
}
