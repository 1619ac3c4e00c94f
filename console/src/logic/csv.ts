/** A record of a CSV file, and the line where it begins, counted from 1. */
export interface CSVRecord {
  line: number;
  values: string[];
}

/**
 * Reads CSV as in RFC 4180, separated by commas, semicolons or tabs, whichever is most frequent in the first line.
 * A first line such as sep=; declares the separator for Excel, and is left out.
 * Quoted values may contain line breaks. Empty lines are left out. Throws an error with the line of a quote that never ends.
 */
export function readCSV(text: string): CSVRecord[] {
  const content = text.replace(/^\uFEFF/, "");
  const [head, declared] = /^sep=([,;|\t])(?:\r\n|\r|\n|$)/i.exec(content) ?? ["", undefined];
  const separator = declared ?? separatorOf(content.slice(0, content.search(/[\r\n]|$/)));
  const records: CSVRecord[] = [];
  let [line, at] = [declared ? 2 : 1, head.length];
  while (at < content.length) {
    const record: CSVRecord = { line, values: [] };
    for (;;) {
      const value = readValue(content, at, separator, line);
      record.values.push(value.text);
      line += value.breaks;
      at = value.end;
      if (content[at] !== separator) break;
      at++;
    }
    at += content.startsWith("\r\n", at) ? 2 : 1;
    line++;
    if (record.values.some((value) => value.trim() !== "")) records.push(record);
  }
  return records;
}

function readValue(content: string, start: number, separator: string, line: number): { text: string; end: number; breaks: number } {
  if (content[start] !== '"') {
    let end = start;
    while (end < content.length && content[end] !== separator && content[end] !== "\n" && content[end] !== "\r") end++;
    return { text: content.slice(start, end), end, breaks: 0 };
  }
  let text = "";
  for (let at = start + 1; ; ) {
    const quote = content.indexOf('"', at);
    if (quote < 0) throw new Error(`The quotation mark in line ${line} has no end.`);
    text += content.slice(at, quote);
    at = quote + 2;
    if (content[quote + 1] === '"') text += '"';
    else return { text, end: quote + 1, breaks: text.split(/\r\n|\r|\n/).length - 1 };
  }
}

function separatorOf(line: string): string {
  const count = (separator: string) => line.split(separator).length;
  return [",", ";", "\t"].toSorted((a, b) => count(b) - count(a))[0] ?? ",";
}
