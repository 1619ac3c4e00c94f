import assert from "node:assert/strict";
import { test } from "node:test";
import { changesAround, messagesAt, newsOf, proofRows, withoutMark } from "./cause";

const changes = [
  { number: 1, before: "You are Robin.", after: "You are Robin of the clinic." },
  { number: 2, before: "- Cars park behind the building.", after: null },
  { number: 3, before: null, after: "# How you speak" },
];
const versions = { good: 1, bad: 2 };
const found = { status: "Completed", verdict: "Found", error: null, isOnlyCause: true, steps: [{ restored: [1, 2, 3], judged: 5, passed: 2 }] };
const [, lost, added] = changes;
if (!lost || !added) throw new Error("unreachable");

test("the news names the kind of change that broke the test", () => {
  assert.equal(newsOf(changes, [], [lost], found, versions).title, "One lost sentence broke this test");
  assert.equal(newsOf(changes, [], [lost, added], found, versions).title, "2 changes together broke this test");
  assert.equal(newsOf(changes, [lost], [], undefined, versions).title, "One lost sentence may have broken this test");
  assert.equal(newsOf(changes, [], [], undefined, versions).title, "3 changes may have broken this test");
  assert.equal(newsOf([], [], [], undefined, { good: 2, bad: 2 }).title, "The words of the prompt did not change");
  assert.match(newsOf(changes, [], [], { ...found, verdict: "NotExplained" }, versions).text, /v1 restored, 2 of 5 draft runs passed/);
  assert.equal(newsOf(changes, [], [{ number: 4, before: "A.", after: "A." }], found, versions).title, "One moved sentence broke this test");
});

test("the news does not name the kind of a change that the key cannot read", () => {
  assert.equal(newsOf(changes, [], [{ number: 2 }], found, versions).title, "One change broke this test");
});

test("a failed search gives its reason", () => {
  assert.equal(newsOf(changes, [], [], { ...found, status: "Failed", verdict: null, error: "The test was deleted." }, versions).text, "The test was deleted.");
});

test("the proof begins with the cause", () => {
  const steps = [[1, 2, 3], [], [2], [1, 3], [1, 2]].map((restored) => ({ restored, judged: 5, passed: 5 }));
  assert.deepEqual(
    proofRows(steps, changes, [lost], versions).map(({ text }) => text),
    ["Cars park behind the building.", "All 3 changes, as in v1", "None, as in v2", "The 2 other changes", "2 of the changes"],
  );
});

test("the changes around the cause are shown", () => {
  const many = Array.from({ length: 20 }, (_, i) => ({ number: i + 1 }));
  assert.deepEqual(changesAround(many, [{ number: 16 }]).map(({ number }) => number), [15, 16, 17]);
  assert.equal(changesAround(many, []).length, 8);
});

test("a comparison shows the question and the first different answer", () => {
  const messages = ["assistant", "user", "assistant", "user"].map((role) => ({ role, text: "" }));
  assert.deepEqual(messagesAt(messages, 2).map(({ index }) => index), [1, 2]);
  assert.deepEqual(messagesAt(messages, 1).map(({ index }) => index), [0, 1, 2]);
  assert.deepEqual(messagesAt(messages, null).map(({ index }) => index), [3]);
});

test("an item's mark is not part of its sentence", () => {
  assert.equal(withoutMark("- Bus 14 stops."), "Bus 14 stops.");
  assert.equal(withoutMark("3. Ask."), "Ask.");
  assert.equal(withoutMark("# Emergencies"), "# Emergencies");
});
