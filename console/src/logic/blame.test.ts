import assert from "node:assert/strict";
import { test } from "node:test";
import { byVersion } from "./blame";

const runs = (text: string) =>
  text.split(" ").map((run, i) => ({ id: String(i), status: { P: "Passed", F: "Failed", E: "Error", Q: "Queued" }[run[0]!]!, promptVersion: Number(run[1]) }));

test("runs are counted by version, newest first", () => {
  assert.deepEqual(byVersion(runs("P2 F2 E2 P1")), [
    { version: 2, passed: 1, judged: 2 },
    { version: 1, passed: 1, judged: 1 },
  ]);
});
