/** A snake_case name for language models, made from a display name. */
export function technicalName(name: string): string {
  const plain = name.toLowerCase().normalize("NFD").replace(/\p{Mark}/gu, "");
  return plain.replace(/[^a-z0-9]+/g, "_").replace(/^[_0-9]+|_+$/g, "").slice(0, 64);
}
