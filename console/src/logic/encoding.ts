/**
 * The text of a file in UTF-8, or in UTF-16 with a byte order mark. Throws an error for a workbook, and with the first line
 * that has another encoding, as the command line does.
 */
export function decodeText(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  if (workbooks.some((start) => start.every((byte, i) => bytes[i] === byte))) throw new Error("This file is a workbook, not text. Save it as CSV UTF-8, and choose the new file.");
  const text = fromUTF8(bytes);
  if (text === undefined) throw new Error(`Line ${faultyLine(bytes)} is not UTF-8. Save the file with the encoding UTF-8. Excel calls this type CSV UTF-8.`);
  return text;
}

/** The first bytes of workbooks: a ZIP file, and Excel before 2007. */
const workbooks = [
  [0x50, 0x4b, 0x03, 0x04],
  [0xd0, 0xcf, 0x11, 0xe0],
];

/** Undefined if the bytes are not UTF-8. */
function fromUTF8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The first line that is not UTF-8, counted from 1. */
function faultyLine(bytes: Uint8Array): number {
  let [line, start] = [1, 0];
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
    if (fromUTF8(bytes.subarray(start, end)) === undefined) return line;
    line++;
    start = end + 1;
  }
  return line;
}
