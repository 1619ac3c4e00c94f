import assert from "node:assert/strict";
import { test } from "node:test";
import { byVersion, redSince } from "./blame";

const runs = (text: string) =>
  text.split(" ").map((run, i) => ({ id: String(i), status: { P: "Passed", F: "Failed", E: "Error", Q: "Queued" }[run[0]!]!, promptVersion: Number(run[1]) }));

test("a red test names the prompt that turned it", () => {
  const blame = redSince(runs("F3 F3 F2 P1 F1"));
  assert.equal(blame?.since.promptVersion, 2);
  assert.equal(blame?.lastPassed?.promptVersion, 1);
});

test("errors and waiting runs say nothing", () => {
  assert.equal(redSince(runs("Q3 E3 F2 E2 P1"))?.since.promptVersion, 2);
  assert.equal(redSince(runs("Q3 P2 F1")), undefined);
  assert.equal(redSince([]), undefined);
  assert.equal(redSince(runs("E1")), undefined);
});

test("a test that never passed is red since its first run", () => {
  assert.deepEqual(redSince(runs("F2 F1")), { since: runs("F2 F1")[1], lastPassed: undefined });
});

test("runs are counted by version, newest first", () => {
  assert.deepEqual(byVersion(runs("P2 F2 E2 P1")), [
    { version: 2, passed: 1, judged: 2 },
    { version: 1, passed: 1, judged: 1 },
  ]);
});
