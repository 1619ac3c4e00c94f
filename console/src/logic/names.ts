/** A snake_case name for language models, made from a display name. */
export function technicalName(name: string): string {
  return folded(name).replace(/[^a-z0-9]+/g, "_").replace(/^[_0-9]+|_+$/g, "").slice(0, 64);
}

/** Text to search by: without case, accents, and differences of width. "ß" is "ss", and the dotless "ı" is "i". */
export function folded(text: string): string {
  return text.trim().normalize("NFKD").toLowerCase().replace(/\p{Mark}/gu, "").replaceAll("ß", "ss").replaceAll("ı", "i");
}

/** A name with its bidirectional overrides as escapes, since they show the letters after them in another order. */
export function withoutOverrides(name: string): string {
  return name.replace(/[\u202d\u202e]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16)}`);
}
