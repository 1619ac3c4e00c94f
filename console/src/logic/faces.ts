/** The 32-bit FNV-1a hash of the text's UTF-8 bytes. */
export function fnv1a32(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/** The number of an agent's color, 0 to 9. It follows from the id, so it never changes. */
export function hueOf(id: string): number {
  return fnv1a32(id) % 10;
}

/** The first letters of the first two words of a name, or the first two of its only word. */
export function initials(name: string): string {
  const [first = "", second] = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const letters = second ? [[...first][0], [...second][0]] : [...first].slice(0, 2);
  return letters.join("").toUpperCase() || "?";
}
