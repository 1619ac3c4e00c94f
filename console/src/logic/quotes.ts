/** Something that was quoted, by the criterion's number. */
export interface Quote {
  criterion: number;
  text: string;
}

/** A piece of a message, with the numbers of the criteria whose quotes it belongs to. */
export interface QuotedPiece {
  text: string;
  criteria: number[];
}

/** Cuts a message at the ends of the quotes that stand in it. The pieces together are the message. */
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

/** Whether the quote stands in the text. */
export function isIn(text: string, quote: string): boolean {
  return placeOf(text, quote) !== undefined;
}

/** Where a quote stands; white space and the shapes of quotation marks and dashes do not count, as for the judge. */
function placeOf(text: string, quote: string): { start: number; end: number } | undefined {
  const [folded, starts] = fold(text);
  const [sought] = fold(quote.trim());
  const at = sought === "" ? -1 : folded.indexOf(sought);
  if (at < 0) return undefined;
  return { start: starts[at] ?? 0, end: (starts[at + sought.length - 1] ?? 0) + 1 };
}

/** The text with each white space as one space and plain quotation marks and dashes, and where each character came from. */
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
