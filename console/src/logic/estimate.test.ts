import assert from "node:assert/strict";
import { test } from "node:test";
import { estimateText, priceText, totalOf } from "./estimate";

test("an estimate says what runs take and what they can show", () => {
  const falls = [{ repeats: 5, passRate: 0.1 }, { repeats: 20, passRate: 0.6 }];
  assert.equal(
    estimateText({ runs: 60, runsAtMost: 60, seconds: 170, credits: 40, reviewCredits: 6, noticedFalls: falls }),
    "60 runs, about 3 min, 40.00 credits, 6.00 of them to review contacts. A comparison would detect a test's drop from 100 % to 10 %; with 20 repeats, a drop to 60 %.",
  );
  assert.equal(
    estimateText({ runs: 6, runsAtMost: 20, seconds: null, credits: null, reviewCredits: null, noticedFalls: [{ repeats: 20, passRate: 0.5 }] }),
    "6 runs if all pass, at most 20. The credits are not known, because no earlier run recorded any. A comparison would detect a test's drop from 100 % to 50 %.",
  );
  assert.equal(
    estimateText({ runs: 1, runsAtMost: 1, seconds: 0.2, credits: 0, reviewCredits: null, noticedFalls: [{ repeats: 1, passRate: null }] }),
    "1 run, about 1 s. A comparison would detect no drop of a single test.",
  );
});

test("the prices of several executions add up, and unknown parts are left out", () => {
  const none = { seconds: null, credits: null, reviewCredits: null };
  const total = totalOf([
    { runs: 8, runsAtMost: 8, seconds: 90, credits: 2.5, reviewCredits: null },
    { runs: 4, runsAtMost: 4, ...none },
    { runs: 5, runsAtMost: 5, seconds: 30, credits: 1, reviewCredits: 0.5 },
  ]);
  assert.equal(priceText(total), "17 runs, about 2 min, 3.50 credits, 0.50 of them to review contacts");
  assert.deepEqual(totalOf([{ runs: 4, runsAtMost: 4, ...none }]), { runs: 4, runsAtMost: 4, ...none });
});
