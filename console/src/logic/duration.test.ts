import assert from "node:assert/strict";
import { test } from "node:test";
import { duration } from "../ui/format";

test("a duration never has sixty seconds", () => {
  assert.equal(duration(999), "999 ms");
  assert.equal(duration(59_940), "59.9 s");
  assert.equal(duration(59_960), "1 min 0 s");
  assert.equal(duration(119_600), "2 min 0 s");
  assert.equal(duration(125_000), "2 min 5 s");
});
