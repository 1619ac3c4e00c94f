import assert from "node:assert/strict";
import { test } from "node:test";
import { byVersion } from "./blame";

const runs = (text: string) =>
  text.split(" ").map((run, i) => ({ id: String(i), status: { P: "Passed", F: "Failed", E: "Error", Q: "Queued" }[run[0]!]!, promptVersion: Number(run[1]), isDraft: run[2] === "d" }));

test("runs are counted by version, newest first", () => {
  assert.deepEqual(byVersion(runs("P2 F2 E2 P1")), [
    { version: 2, passed: 1, judged: 2 },
    { version: 1, passed: 1, judged: 1 },
  ]);
});

test("runs of drafts do not count for the version that they started from", () => {
  assert.deepEqual(byVersion(runs("P2d P2d F2 F1d")), [{ version: 2, passed: 0, judged: 1 }]);
});
