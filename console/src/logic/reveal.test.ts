import assert from "node:assert/strict";
import { test } from "node:test";
import { nextPiece } from "./reveal";

test("a short text appears word by word, and ends whole", () => {
  const text = "Yes. Your warranty runs.";
  const seen: string[] = [];
  for (let shown = 0; shown < text.length; ) {
    shown = nextPiece(text, shown);
    seen.push(text.slice(0, shown));
  }
  assert.deepEqual(seen, ["Yes. ", "Yes. Your ", "Yes. Your warranty ", text]);
});

test("a long text takes a bounded number of pieces", () => {
  const text = "word ".repeat(2_000);
  let steps = 0;
  for (let shown = 0; shown < text.length; steps++) shown = nextPiece(text, shown);
  assert.ok(steps <= 41, `${steps}`);
});
