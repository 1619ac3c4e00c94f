import assert from "node:assert/strict";
import { test } from "node:test";
import { changesOf, inOneLine } from "./changes";

test("only changed values are sent, so that other people's changes of other values remain", () => {
  const before = { name: "Manuals", topN: 6, datasetIds: ["a", "b"] };
  assert.deepEqual(changesOf(before, { ...before, topN: 8 }), { topN: 8 });
  assert.deepEqual(changesOf(before, { ...before, datasetIds: ["b", "a"] }), { datasetIds: ["b", "a"] });
  assert.deepEqual(changesOf(before, { ...before, name: "" }), { name: "" });
  assert.equal(changesOf(before, { ...before, datasetIds: ["a", "b"] }), undefined);
});

test("a delimiter is shown with its escapes", () => {
  assert.equal(inOneLine("\n"), "\\n");
  assert.equal(inOneLine("\t;\r\n"), "\\t;\\r\\n");
  assert.equal(inOneLine("\\n"), "\\\\n");
});
