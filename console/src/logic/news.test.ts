import assert from "node:assert/strict";
import { test } from "node:test";
import { timeLeft, turned } from "./news";

const now = new Date(2026, 10, 26, 12);
const red = (name: string, at: Date, hasPassed = true) => ({ name, failingSince: { run: { createdAt: at.toISOString() }, lastPassed: hasPassed ? {} : null }, history: [] });

test("tests that turned red since yesterday come latest first, and new ones after them", () => {
  const { fresh, earlier } = turned(
    [red("yesterday", new Date(2026, 10, 25, 0, 30)), red("before", new Date(2026, 10, 24, 23)), red("today", new Date(2026, 10, 26, 9)), red("never green", new Date(2026, 10, 24), false), red("new", now, false)],
    now,
  );
  assert.deepEqual(fresh.map(({ name }) => name), ["today", "yesterday", "new"]);
  assert.deepEqual(earlier.map(({ name }) => name), ["before", "never green"]);
});

test("a test without a run is not news", () => {
  assert.deepEqual(turned([{ failingSince: null, history: [] }], now).fresh, []);
});

test("a test whose last run had an error turned red after its last passed run", () => {
  const run = (status: string, at: Date) => ({ status, createdAt: at.toISOString() });
  const [today, old] = [new Date(2026, 10, 26, 9), new Date(2026, 10, 20)];
  const test = (name: string, ...history: { status: string; createdAt: string }[]) => ({ name, failingSince: null, history });
  const { fresh, earlier } = turned(
    [
      test("broken for days", run("Error", today), run("Error", old), run("Passed", old)),
      test("new", run("Error", today)),
      test("broken today", run("Error", today), run("Passed", old)),
    ],
    now,
  );
  assert.deepEqual(fresh.map(({ name }) => name), ["broken today", "new"]);
  assert.deepEqual(earlier.map(({ name }) => name), ["broken for days"]);
});

test("the time left assumes the same pace", () => {
  assert.equal(timeLeft(5, 20, new Date(now.getTime() - 10_000).toISOString(), now.getTime()), 30_000);
  assert.equal(timeLeft(0, 20, now.toISOString(), now.getTime()), undefined);
  assert.equal(timeLeft(1, 20, null, now.getTime()), undefined);
});
