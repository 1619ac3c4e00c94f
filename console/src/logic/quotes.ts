/** A quote and the number of its criterion. */
export interface Quote {
  criterion: number;
  text: string;
}

/** A piece of a message, with the numbers of the criteria that quote it. */
export interface QuotedPiece {
  text: string;
  criteria: number[];
}

/** Cuts a message at both ends of each quote in it. Joined, the pieces are the message. */
export function quotedPieces(message: string, quotes: readonly Quote[]): QuotedPiece[] {
  const places = quotes.flatMap((quote) => {
    const place = placeOf(message, quote.text);
    return place ? [{ ...place, criterion: quote.criterion }] : [];
  });
  const cuts = [...new Set([0, message.length, ...places.flatMap((p) => [p.start, p.end])])].sort((a, b) => a - b);
  return cuts.slice(1).map((end, i) => {
    const start = cuts[i] ?? 0;
    const criteria = places.filter((p) => p.start <= start && p.end >= end).map((p) => p.criterion);
    return { text: message.slice(start, end), criteria: [...new Set(criteria)].sort((a, b) => a - b) };
  });
}

/** The place of a quote. As for the judge, white space and the shapes of quotation marks and dashes do not matter. */
function placeOf(text: string, quote: string): { start: number; end: number } | undefined {
  const [folded, starts] = fold(text);
  const [sought] = fold(quote.trim());
  const at = sought === "" ? -1 : folded.indexOf(sought);
  if (at < 0) return undefined;
  return { start: starts[at] ?? 0, end: (starts[at + sought.length - 1] ?? 0) + 1 };
}

/**
 * The text with each run of white space as one space and with plain quotation marks and dashes, and the index in the text
 * of each of its characters.
 */
function fold(text: string): [string, number[]] {
  let folded = "";
  const starts: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const c = text[i] ?? "";
    const plain = /\s/.test(c) ? " " : /[“”„«»"]/.test(c) ? '"' : /[‘’‚`']/.test(c) ? "'" : /[‐-―−]/.test(c) ? "-" : c;
    if (plain === " " && folded.endsWith(" ")) continue;
    folded += plain;
    starts.push(i);
  }
  return [folded, starts];
}
