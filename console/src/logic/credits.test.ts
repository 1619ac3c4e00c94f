import assert from "node:assert/strict";
import { test } from "node:test";
import { addUp, atThisPace, dayCount, month, year } from "./credits";

test("sums are compared to the millionth", () => {
  assert.ok(addUp(0.3, [{ credits: 0.1 }, { credits: 0.2 }]));
  assert.ok(!addUp(0.3, [{ credits: 0.1 }, { credits: 0.200001 }]));
  assert.ok(!addUp(0.3, [{ credits: 0.3 }], []));
});

test("months are whole, except this one", () => {
  const today = new Date("2026-03-05T12:00:00Z");
  assert.deepEqual(month(0, today), { from: "2026-03-01", to: "2026-03-05" });
  assert.deepEqual(month(1, today), { from: "2026-02-01", to: "2026-02-28" });
  assert.deepEqual(month(3, today), { from: "2025-12-01", to: "2025-12-31" });
  assert.deepEqual(year(today), { from: "2025-04-01", to: "2026-03-05" });
});

test("both ends of a range count", () => {
  assert.equal(dayCount({ from: "2026-03-05", to: "2026-03-05" }), 1);
  assert.equal(dayCount({ from: "2025-04-01", to: "2026-03-31" }), 365);
});

test("a pace is shown from the second day of a period until its end", () => {
  const [start, end] = ["2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"];
  assert.equal(atThisPace(100, start, end, new Date("2026-11-11T00:00:00Z")), 300);
  assert.equal(atThisPace(100, start, end, new Date("2026-11-01T23:59:59Z")), undefined);
  assert.equal(atThisPace(100, start, end, new Date(end)), undefined);
});
