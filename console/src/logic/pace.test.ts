import assert from "node:assert/strict";
import { test } from "node:test";
import { paceOf, sampled, type Sample } from "./pace";

test("a pace is computed from the first and the last sample", () => {
  assert.equal(paceOf([{ at: 0, done: 100 }, { at: 30_000, done: 101 }, { at: 60_000, done: 104 }]), 4);
  assert.equal(paceOf([{ at: 0, done: 100 }, { at: 60_000, done: 100 }]), 0);
});

test("neither close samples nor a contact that is called again give a pace", () => {
  assert.equal(paceOf([]), undefined);
  assert.equal(paceOf([{ at: 0, done: 1 }]), undefined);
  assert.equal(paceOf([{ at: 0, done: 1 }, { at: 9_999, done: 5 }]), undefined);
  assert.equal(paceOf([{ at: 0, done: 5 }, { at: 60_000, done: 4 }]), undefined);
});

test("samples older than five minutes do not count", () => {
  let samples: Sample[] = [];
  for (let minute = 0; minute <= 10; minute++) samples = sampled(samples, { at: minute * 60_000, done: minute < 5 ? 0 : (minute - 5) * 10 });
  assert.equal(samples.length, 6);
  assert.equal(paceOf(samples), 10);
});
