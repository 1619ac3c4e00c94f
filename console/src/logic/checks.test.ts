import assert from "node:assert/strict";
import { test } from "node:test";
import { checkKinds, checkOf, initialMore, rowOf, type Check } from "./checks";

const checks: Check[] = [
  { expect: { called: { technicalName: "book", max: 1, where: [{ argument: "day", equals: "Monday" }] } }, weight: null },
  { expect: { neverCalled: { kind: "CallTransfer" } }, weight: null },
  { expect: { says: { text: "dial 999", turn: 0 } }, weight: 3 },
  { expect: { neverSays: { matches: "(?i)refund" } }, weight: null },
  { expect: { endedBy: "Agent" }, weight: null },
  { expect: { tag: "Booked" }, weight: null },
  { expect: { turnsAtMost: 6 }, weight: 1 },
  { expect: { durationAtMost: 1.5 }, weight: null },
  { expect: { firstTokenAtMost: 0.5 }, weight: null },
  { expect: { creditsAtMost: 5 }, weight: null },
  { expect: { extracts: { name: "day", equals: "Monday" } }, weight: null },
  { expect: { resultJson: { technicalName: "book", schema: { type: "object", properties: { min: { type: "null" } } } } }, weight: null },
];

test("a check is unchanged after it was shown in a form", () => {
  assert.deepEqual(checks.flatMap((check) => Object.keys(check.expect)).sort(), Object.keys(checkKinds).sort());
  for (const check of checks) assert.deepEqual(checkOf(rowOf(check)), check);
});

test("members that the API adds to a check are not shown", () => {
  const read = { called: { technicalName: "book", kind: null, where: [{ argument: "day", equals: "Monday", matches: null, present: null }], succeeded: false, min: 1, max: null, before: null }, says: null };
  assert.deepEqual(rowOf({ expect: read, weight: null }), { kind: "called", value: "book", more: '{"where":[{"argument":"day","equals":"Monday"}]}', weight: null });
  assert.equal(rowOf({ expect: { says: { text: "hello", matches: null, role: "assistant", turn: null } }, weight: null }).more, "");
});

test("a new check of calls counts only calls that succeeded", () => {
  assert.deepEqual(checkOf({ kind: "called", value: "book", more: initialMore("called"), weight: null }), { expect: { called: { technicalName: "book", succeeded: true } }, weight: null });
  assert.equal(initialMore("neverCalled"), "");
});

test("an invalid row gives no check", () => {
  assert.equal(checkOf({ kind: "says", value: "a", more: "{", weight: null }), undefined);
  assert.equal(checkOf({ kind: "says", value: "a", more: "[1]", weight: null }), undefined);
  assert.equal(checkOf({ kind: "turnsAtMost", value: "", more: "", weight: null }), undefined);
  assert.equal(checkOf({ kind: "turnsAtMost", value: "six", more: "", weight: null }), undefined);
  assert.equal(checkOf({ kind: "gone", value: "", more: "", weight: null }), undefined);
});
