import { diffArrays, diffWordsWithSpace } from "diff";

export interface DiffPiece {
  kind: "same" | "gone" | "new";
  text: string;
}

/** The share of the longer sentence's words that two sentences must have in common to count as one that was rewritten. */
const alike = 0.5;

/**
 * Compares two texts sentence by sentence, and similar sentences word by word. A heading and an item of a list are
 * sentences too. A removed sentence is shown whole: it is not compared with its replacement.
 */
export function promptDiff(from: string, to: string): DiffPiece[] {
  const pieces: DiffPiece[] = [];
  const add = (kind: DiffPiece["kind"], text: string) => {
    const last = pieces.at(-1);
    if (last?.kind === kind) last.text += text;
    else if (text) pieces.push({ kind, text });
  };
  let gone: string[] = [];
  let come: string[] = [];
  const flush = () => {
    for (const [before, after] of pairs(gone, come)) {
      if (before === undefined || after === undefined) add(before === undefined ? "new" : "gone", before ?? after ?? "");
      else for (const word of diffWordsWithSpace(before, after)) add(word.added ? "new" : word.removed ? "gone" : "same", word.value);
    }
    [gone, come] = [[], []];
  };
  for (const change of diffArrays(sentences(from), sentences(to))) {
    if (change.removed) gone.push(...change.value);
    else if (change.added) come.push(...change.value);
    else {
      flush();
      add("same", change.value.join(""));
    }
  }
  flush();
  return pieces;
}

/**
 * Where a sentence ends: after a line break, or after a punctuation mark and spaces unless a lower-case letter follows.
 * The period after the number of a list item ends no sentence.
 */
const sentenceEnd = /(?<=\n)|(?<=[.!?]["”»)]*[ \t]+)(?<!^[ \t]*\d+\.[ \t]+)(?=[^\s\p{Ll}])/mu;

/** The sentences with the white space after them, so that they join to the text. The last one gets a line end for the comparison. */
function sentences(text: string): string[] {
  return text === "" ? [] : text.replace(/\n?$/, "\n").split(sentenceEnd);
}

/** Pairs similar sentences, in order. A sentence without a counterpart stays alone. */
function pairs(gone: string[], come: string[]): [string | undefined, string | undefined][] {
  const rows: [string | undefined, string | undefined][] = [];
  let next = 0;
  for (const before of gone) {
    const found = come.findIndex((after, i) => i >= next && similarity(before, after) >= alike);
    if (found < 0) {
      rows.push([before, undefined]);
      continue;
    }
    for (; next < found; next++) rows.push([undefined, come[next]]);
    rows.push([before, come[next++]]);
  }
  for (; next < come.length; next++) rows.push([undefined, come[next]]);
  return rows;
}

function similarity(a: string, b: string): number {
  const [first, second] = [words(a), words(b)];
  if (first.length === 0 || second.length === 0) return 0;
  const left = new Set(second);
  return first.filter((word) => left.has(word)).length / Math.max(first.length, second.length);
}

function words(sentence: string): string[] {
  return sentence.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}

/** How many unchanged lines are shown before and after a change, and the minimum number of lines to hide. */
const shown = 3;
const leastHidden = 6;

/** Cuts unchanged text into a part that is shown before, one that is hidden, and one that is shown after. */
export function hideUnchanged(text: string, isFirst: boolean, isLast: boolean): { before: string; hidden: string; lines: number; after: string } {
  const lines = text.split(/(?<=\n)/);
  const start = isFirst ? 0 : shown;
  const end = isLast ? lines.length : lines.length - shown;
  if (end - start < leastHidden) return { before: text, hidden: "", lines: 0, after: "" };
  return { before: lines.slice(0, start).join(""), hidden: lines.slice(start, end).join(""), lines: end - start, after: lines.slice(end).join("") };
}
