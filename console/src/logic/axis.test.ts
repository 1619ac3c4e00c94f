import assert from "node:assert/strict";
import { test } from "node:test";
import { busiestOf, ticks, weeks } from "./axis";

test("an axis has three to five round values that reach the largest bar", () => {
  assert.deepEqual(ticks(2_702), [0, 1_000, 2_000, 3_000]);
  assert.deepEqual(ticks(96), [0, 50, 100]);
  assert.deepEqual(ticks(0.7), [0, 0.25, 0.5, 0.75]);
  assert.deepEqual(ticks(0), [0, 1]);
  for (let most = 0.001; most < 1e7; most *= 1.37) {
    const found = ticks(most);
    assert.ok(found.length >= 3 && found.length <= 5 && (found.at(-1) ?? 0) >= most, `${most}: ${found.join()}`);
  }
});

test("weeks begin on Mondays, and the first one may be short", () => {
  const day = (name: string, credits: number) => ({ name, credits, byChannel: [{ channel: "Phone", credits }] });
  const days = ["2026-11-21", "2026-11-22", "2026-11-23", "2026-11-29", "2026-11-30"].map((name) => day(name, 0.1));
  assert.deepEqual(weeks(days).map(({ name, credits, byChannel }) => [name, credits, byChannel[0]?.credits]), [
    ["2026-11-21", 0.2, 0.2],
    ["2026-11-23", 0.2, 0.2],
    ["2026-11-30", 0.1, 0.1],
  ]);
});

test("the busiest bar is the first of the highest ones, and there is none without bars", () => {
  const bars = [1, 3, 3, 2].map((credits, i) => ({ name: String(i), credits, byChannel: [] }));
  assert.equal(busiestOf(bars)?.name, "1");
  assert.equal(busiestOf([]), undefined);
});
