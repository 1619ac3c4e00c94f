import assert from "node:assert/strict";
import { test } from "node:test";
import { paceOf, sampled, type Sample } from "./pace";

test("a pace is what was done between the first sample and the last", () => {
  assert.equal(paceOf([{ at: 0, done: 100 }, { at: 30_000, done: 101 }, { at: 60_000, done: 104 }]), 4);
  assert.equal(paceOf([{ at: 0, done: 100 }, { at: 60_000, done: 100 }]), 0);
});

test("moments tell no pace, and neither does a contact that is called again", () => {
  assert.equal(paceOf([]), undefined);
  assert.equal(paceOf([{ at: 0, done: 1 }]), undefined);
  assert.equal(paceOf([{ at: 0, done: 1 }, { at: 9_999, done: 5 }]), undefined);
  assert.equal(paceOf([{ at: 0, done: 5 }, { at: 60_000, done: 4 }]), undefined);
});

test("what is older than five minutes does not count", () => {
  let samples: Sample[] = [];
  for (let minute = 0; minute <= 10; minute++) samples = sampled(samples, { at: minute * 60_000, done: minute < 5 ? 0 : (minute - 5) * 10 });
  assert.equal(samples.length, 6);
  assert.equal(paceOf(samples), 10);
});
