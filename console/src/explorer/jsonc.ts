import { applyEdits, format } from "jsonc-parser";

// Stands in for Prettier's parser and printer of JSON with comments, which bring a whole JavaScript parser along.

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
