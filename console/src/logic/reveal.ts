/** How often text that is being revealed grows, in milliseconds. */
export const pieceTime = 60;

/** At most this many pieces, so that long texts do not take long. */
const pieces = 40;

/** How many characters of the target show after the next piece, if `shown` do now. A piece ends with a word. */
export function nextPiece(target: string, shown: number): number {
  const least = Math.max(1, Math.ceil(target.length / pieces));
  const end = target.slice(shown + least - 1).search(/\s/);
  return end < 0 ? target.length : Math.min(target.length, shown + least + end);
}
