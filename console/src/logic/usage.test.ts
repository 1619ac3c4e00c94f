import assert from "node:assert/strict";
import { test } from "node:test";
import { exactCredits } from "../ui/format";
import { answerText, fallbackText } from "./usage";

test("an answer shows its tokens, price and time, and its model if that is a fallback", () => {
  const usage = { model: "large", isFallback: false, inputTokens: 1_234, outputTokens: 56, firstTokenMs: 310.2, tookMs: 1_240, credits: 0.0467 };
  assert.equal(answerText(usage), "1,234 tokens read, 56 written · 0.0467 credits · 1.2 s, first text after 310 ms");
  assert.match(answerText({ ...usage, isFallback: true }) ?? "", /^large \(fallback\) · /);
  assert.equal(answerText({ ...usage, credits: 0, firstTokenMs: null }), "1,234 tokens read, 56 written · 1.2 s");
  assert.equal(answerText({ ...usage, model: "offline" }), undefined);
  assert.equal(answerText({ ...usage, model: null }), undefined);
});

test("credits have enough digits to compare small prices", () => {
  assert.deepEqual([0.1402, 0.1334, 0.0467, 0.000_012, 12, 123_456.7].map(exactCredits), ["0.1402", "0.1334", "0.0467", "0.000012", "12", "123,500"]);
});

test("the answers of a fallback are counted", () => {
  assert.equal(fallbackText({ answers: 12, fallbacks: 12, models: ["small"] }), "12 of 12 answers by a fallback: small");
  assert.equal(fallbackText({ answers: 12, fallbacks: 2, models: ["large", "small"] }), "2 of 12 answers by a fallback");
  assert.equal(fallbackText({ answers: 12, fallbacks: 0, models: ["large"] }), undefined);
});
