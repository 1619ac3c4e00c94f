/** The values of a form that differ from the initial ones; undefined if none does. */
export function changesOf<Values extends object>(before: Values, now: Values): Partial<Values> | undefined {
  const changed = Object.entries(now).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof Values]));
  return changed.length > 0 ? (Object.fromEntries(changed) as Partial<Values>) : undefined;
}

const escapes: Record<string, string> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** A text in one line: line ends and similar characters are written as the API's escapes, such as `\n`. */
export function inOneLine(text: string): string {
  return text.replace(/[\\\n\r\t]/g, (sign) => escapes[sign] ?? sign);
}
