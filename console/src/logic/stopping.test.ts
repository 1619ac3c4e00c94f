import assert from "node:assert/strict";
import { test } from "node:test";
import { repeatsText, stoppingName, stoppingOf, usualRates } from "./stopping";

test("each way to stop is read back as it was chosen", () => {
  for (const name of ["all", "failed", "decided"] as const) assert.equal(stoppingName(stoppingOf(name)), name);
  assert.equal(stoppingName({ good: null, bad: null }), "failed");
  assert.deepEqual(stoppingOf("decided"), usualRates);
});

test("a schedule says how often it runs a test", () => {
  assert.equal(repeatsText(1, null), "");
  assert.equal(repeatsText(5, null), " × 5");
  assert.equal(repeatsText(5, {}), " × 5 at most, until one fails");
  assert.equal(repeatsText(20, { good: 0.9, bad: 0.5 }), " × 20 at most, until a pass rate of 0.9 is likelier than 0.5");
});
