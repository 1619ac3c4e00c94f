import { applyEdits, format } from "jsonc-parser";

// A small substitute for Prettier's JSONC parser and printer, which include a whole JavaScript parser.

interface Text {
  text: string;
}

export const parsers = {
  jsonc: {
    parse: (text: string): Text => ({ text }),
    astFormat: "jsonc",
    locStart: () => 0,
    locEnd: ({ text }: Text) => text.length,
  },
};

export const printers = {
  jsonc: {
    print: ({ node: { text } }: { node: Text }) => applyEdits(text, format(text, undefined, { tabSize: 2, insertSpaces: true })),
  },
};
