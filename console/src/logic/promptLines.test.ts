import assert from "node:assert/strict";
import { test } from "node:test";
import { lineChanges, promptLines } from "./promptLines";

test("headings and new lines are marked", () => {
  const lines = promptLines("# Role\nYou are {name}.\n\n- New", "# Role\nYou are {name}.\n");
  assert.deepEqual(lines.map(({ isHeading, isNew }) => [isHeading, isNew]), [[true, false], [false, false], [false, false], [false, true]]);
  assert.equal(lines.map(({ text }) => text).join(""), "# Role\nYou are {name}.\n\n- New\n");
  assert.ok(!promptLines("#tag", "")[0]?.isHeading);
});

test("changes are counted by lines", () => {
  assert.deepEqual(lineChanges("a\nb\nb\nc", "a\nb\nd"), { added: 2, removed: 1 });
  assert.deepEqual(lineChanges("a\n\n", "a"), { added: 0, removed: 0 });
});
