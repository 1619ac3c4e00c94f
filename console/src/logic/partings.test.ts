import assert from "node:assert/strict";
import { test } from "node:test";
import { parting } from "./partings";

const said = (...texts: string[]) => texts.map((text) => ({ text }));

test("transcripts differ from the first message that is different or that only one has", () => {
  assert.equal(parting(said("a", "b", "c"), said("a", "x", "c")), 1);
  assert.equal(parting(said("a"), said("a", "b")), 1);
  assert.equal(parting(said("a", "b"), said("a", "b")), undefined);
  assert.equal(parting([], []), undefined);
});
