import assert from "node:assert/strict";
import { test } from "node:test";
import { exactTime, relativeTime } from "./times";

const now = Date.parse("2026-11-26T12:00:00Z");

test("times are relative for thirty days", () => {
  assert.equal(relativeTime("2026-11-26T11:59:30Z", now), "just now");
  assert.equal(relativeTime("2026-11-26T11:58:00Z", now), "2 min ago");
  assert.equal(relativeTime("2026-11-26T09:30:00Z", now), "2 h ago");
  assert.equal(relativeTime("2026-11-23T09:30:00Z", now), "3 d ago");
  assert.equal(relativeTime("2026-11-26T15:30:00Z", now), "in 3 h");
  assert.match(relativeTime("2026-03-01T12:00:00Z", now), /^Mar 1$/);
  assert.match(relativeTime("2025-03-01T12:00:00Z", now), /^Mar 1, 2025$/);
});

test("the exact time has seconds and a zone", () => {
  assert.match(exactTime("2026-11-26T11:58:07Z"), /2026.*:07/);
});
