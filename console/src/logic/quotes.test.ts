import assert from "node:assert/strict";
import { test } from "node:test";
import { quotedPieces } from "./quotes";

test("a quote is cut out where it occurs", () => {
  assert.deepEqual(quotedPieces("Thank you. Goodbye!", [{ criterion: 2, text: "Goodbye!" }]), [
    { text: "Thank you. ", criteria: [] },
    { text: "Goodbye!", criteria: [2] },
  ]);
});

test("quotes that overlap share their middle, and nothing is lost", () => {
  const pieces = quotedPieces("abcdef", [{ criterion: 1, text: "abcd" }, { criterion: 2, text: "cdef" }, { criterion: 3, text: "x" }]);
  assert.deepEqual(pieces, [
    { text: "ab", criteria: [1] },
    { text: "cd", criteria: [1, 2] },
    { text: "ef", criteria: [2] },
  ]);
});

test("the shapes of white space, quotation marks and dashes do not matter, but capitals do", () => {
  const text = "He said “it’s  nine – sharp”.";
  assert.deepEqual(quotedPieces(text, [{ criterion: 1, text: `"it's nine - sharp"` }])[1], { text: "“it’s  nine – sharp”", criteria: [1] });
  assert.deepEqual(quotedPieces(text, [{ criterion: 1, text: "HE said" }, { criterion: 2, text: "" }]), [{ text, criteria: [] }]);
});

test("a message without quotes is one piece", () => {
  assert.deepEqual(quotedPieces("a", []), [{ text: "a", criteria: [] }]);
});
