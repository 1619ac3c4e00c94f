import type { Place } from "./keys";
import { folded } from "./names";

/** The pages of objects, by the prefixes of their ids. */
const pathsOfIds: Record<string, string> = {
  agent: "/agents",
  simchat: "/chats",
  test: "/tests",
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

const actionWords = ["chat", "with", "tests", "of", "label", "verdicts"];

/** The text without the words, or starts of words, of actions on agents: "label verdicts card" is about card. */
export function withoutVerb(text: string): string {
  const words = text.trim().split(/\s+/);
  const isOfAction = (word: string) => actionWords.some((action) => action.startsWith(folded(word)));
  while (words[0] !== undefined && isOfAction(words[0])) words.shift();
  return words.join(" ");
}

/** At most `limit` places whose names, with their synonyms, contain all words of the text. Names that begin with it come first. */
export function found<P extends Place>(places: readonly P[], text: string, limit: number): P[] {
  const plain = folded(text);
  const words = plain.split(/\s+/).filter(Boolean);
  return places
    .map((place) => ({ place, name: folded(`${place.text} ${place.synonyms ?? ""}`) }))
    .filter(({ name }) => words.every((word) => name.includes(word)))
    .toSorted((a, b) => Number(b.name.startsWith(plain)) - Number(a.name.startsWith(plain)))
    .slice(0, limit)
    .map(({ place }) => place);
}
