/** A piece of a prompt: text, or a placeholder, which is a name in braces. */
export interface PromptPiece {
  text: string;
  /** The placeholder's name. JSON such as {"a": 1} is text. */
  name?: string;
}

const placeholder = /\{([A-Za-z_][A-Za-z0-9_.]*)\}/g;

/** Cuts a prompt at its placeholders. Joined, the pieces are the prompt. */
export function promptPieces(prompt: string): PromptPiece[] {
  const pieces: PromptPiece[] = [];
  let end = 0;
  for (const found of prompt.matchAll(placeholder)) {
    if (found.index > end) pieces.push({ text: prompt.slice(end, found.index) });
    pieces.push({ text: found[0], name: found[1] });
    end = found.index + found[0].length;
  }
  if (end < prompt.length) pieces.push({ text: prompt.slice(end) });
  return pieces;
}

/** The placeholders without a field of that name, each once, in the order of the prompt. */
export function unknownPlaceholders(prompt: string, fields: readonly { name: string }[]): string[] {
  const known = new Set(fields.map((field) => field.name));
  const names = promptPieces(prompt).flatMap((piece) => (piece.name && !known.has(piece.name) ? [piece.name] : []));
  return [...new Set(names)];
}
