import assert from "node:assert/strict";
import { test } from "node:test";
import { attempts, duration, testsText } from "../ui/format";

test("a duration never has sixty seconds", () => {
  assert.equal(duration(999), "999 ms");
  assert.equal(duration(59_940), "59.9 s");
  assert.equal(duration(59_960), "1 min 0 s");
  assert.equal(duration(119_600), "2 min 0 s");
  assert.equal(duration(125_000), "2 min 5 s");
});

test("the pause between attempts is in days, hours and minutes", () => {
  assert.equal(attempts(3, 0), "3 attempts, without a pause");
  assert.equal(attempts(2, 60), "2 attempts, 1 hour apart");
  assert.equal(attempts(3, 61), "3 attempts, 1 hour 1 minute apart");
  assert.equal(attempts(3, 90), "3 attempts, 1 hour 30 minutes apart");
  assert.equal(attempts(3, 43_200), "3 attempts, 30 days apart");
  assert.equal(attempts(1, 60), "1 attempt");
});

test("tests without a result do not count as failing", () => {
  assert.equal(testsText(0, 0, 0, 4), "4 tests, no result yet");
  assert.equal(testsText(5, 0, 2, 8), "5 of 8 tests pass, 2 errors, 1 without a result");
  assert.equal(testsText(7, 1, 0, 8), "7 of 8 tests pass");
  assert.equal(testsText(0, 0, 0, 0), "No tests");
});
