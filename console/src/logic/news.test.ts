import assert from "node:assert/strict";
import { test } from "node:test";
import { timeLeft, turned } from "./news";

const now = new Date(2026, 10, 26, 12);
const red = (name: string, at: Date, hasPassed = true) => ({ name, failingSince: { run: { createdAt: at.toISOString() }, lastPassed: hasPassed ? {} : null } });

test("tests that turned red since yesterday come latest first, and new ones after them", () => {
  const { fresh, earlier } = turned(
    [red("yesterday", new Date(2026, 10, 25, 0, 30)), red("before", new Date(2026, 10, 24, 23)), red("today", new Date(2026, 10, 26, 9)), red("never green", new Date(2026, 10, 24), false), red("new", now, false)],
    now,
  );
  assert.deepEqual(fresh.map(({ name }) => name), ["today", "yesterday", "new"]);
  assert.deepEqual(earlier.map(({ name }) => name), ["before", "never green"]);
});

test("a test without a verdict is not news", () => {
  assert.deepEqual(turned([{ failingSince: null }], now).fresh, []);
});

test("the time left assumes the same pace", () => {
  assert.equal(timeLeft(5, 20, new Date(now.getTime() - 10_000).toISOString(), now.getTime()), 30_000);
  assert.equal(timeLeft(0, 20, now.toISOString(), now.getTime()), undefined);
  assert.equal(timeLeft(1, 20, null, now.getTime()), undefined);
});
