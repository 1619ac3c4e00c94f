import assert from "node:assert/strict";
import { test } from "node:test";
import { callsOf, chatAfter, emptyChat, type ChatEvent, type ChatMessage } from "./chat";

const after = (...events: ChatEvent[]) => events.reduce(chatAfter, emptyChat);
const message = (sequence: number, role: ChatMessage["role"] = "assistant"): ChatMessage => ({ sequence, role, text: `m${sequence}` });
const piece = (turnId: string, offset: number, text: string): ChatEvent => ({ kind: "piece", turnId, offset, text });

test("messages are in order, each once, whatever their source", () => {
  const state = after({ kind: "written", message: message(3) }, { kind: "read", messages: [message(1), message(2), message(3)] }, { kind: "written", message: message(2) });
  assert.deepEqual(state.messages.map((m) => m.sequence), [1, 2, 3]);
});

test("pieces form a draft, and the message replaces it", () => {
  assert.equal(after(piece("t", 0, "Hel"), piece("t", 3, "lo")).draft?.text, "Hello");
  assert.equal(after(piece("t", 0, "Hel"), { kind: "written", message: message(2) }).draft, undefined);
  assert.equal(after(piece("t", 0, "Hel"), { kind: "written", message: message(1, "user") }).draft?.text, "Hel");
});

test("the contact's text is shown before the answer until it is a message", () => {
  const started: ChatEvent = { kind: "started", question: { sequence: 1, text: "Hi" } };
  assert.equal(after(started, piece("t", 0, "Hel")).question?.text, "Hi");
  assert.equal(after(started, { kind: "read", messages: [] }).question?.text, "Hi");
  assert.equal(after(started, { kind: "written", message: message(1, "user") }).question, undefined);
  assert.equal(after(started, { kind: "read", messages: [message(1, "user"), message(2)] }).question, undefined);
  assert.equal(after(started, { kind: "failed", reason: "timeout" }).question, undefined);
});

test("a piece of another turn begins a new draft", () => {
  assert.equal(after(piece("t", 0, "Hel"), piece("u", 0, "Good")).draft?.text, "Good");
});

test("a repeated piece is not added twice", () => {
  assert.equal(after(piece("t", 0, "Hel"), piece("t", 3, "lo"), piece("t", 3, "lo")).draft?.text, "Hello");
});

test("a missing piece leaves a mark", () => {
  assert.equal(after(piece("t", 5, " world"), piece("t", 11, "!")).draft?.text, "… world!");
  assert.equal(after(piece("t", 0, "a"), piece("t", 2, "c"), piece("t", 2, "cd")).draft?.text, "a…cd");
});

test("offsets count characters, not halves of surrogate pairs", () => {
  assert.equal(after(piece("t", 0, "😀é"), piece("t", 2, "b"), piece("t", 1, "éb")).draft?.text, "😀éb");
});

test("a failed turn removes its draft and shows the reason", () => {
  const state = after(piece("t", 0, "Hel"), { kind: "failed", reason: "timeout" });
  assert.equal(state.draft, undefined);
  assert.equal(state.failure, "timeout");
  assert.equal(chatAfter(state, piece("u", 0, "x")).failure, undefined);
});

test("a finished call replaces the started one", () => {
  const call = { id: "c", kind: "Tool", technicalName: "t", messageSequence: 1, isRunning: true };
  const state = after({ kind: "called", call }, { kind: "called", call: { ...call, isRunning: false, result: "1" } });
  assert.deepEqual(state.calls.map((c) => c.isRunning), [false]);
});

test("the reason of a failed turn disappears with the next messages, also if they are only read", () => {
  const failed: ChatEvent = { kind: "failed", reason: "timeout" };
  assert.equal(after({ kind: "read", messages: [message(1)] }, failed, { kind: "read", messages: [message(1)] }).failure, "timeout");
  assert.equal(after({ kind: "read", messages: [message(1)] }, failed, { kind: "read", messages: [message(1), message(2)] }).failure, undefined);
});

test("a call of the turn in progress shows as its events say, or as running", () => {
  const kept = { id: "c", kind: "Tool", technicalName: "t", messageSequence: 3, durationMs: 0, error: "unknown", isTurnKept: false };
  const [running] = callsOf([kept], [], 2, true);
  assert.deepEqual([running?.isRunning, running?.error, running?.isTurnKept], [true, null, undefined]);
  const [waiting] = callsOf([{ ...kept, durationMs: 5, approval: "Pending" }], [], 2, true);
  assert.equal(waiting?.isRunning, true);
  const ended = { id: "c", kind: "Tool", technicalName: "t", messageSequence: 3, isRunning: false, result: "1", error: null };
  const [finished, other] = callsOf([kept], [ended, { ...ended, id: "d" }], 2, true);
  assert.deepEqual([finished?.isRunning, finished?.error, finished?.result, other?.id], [false, null, "1", "d"]);
  assert.equal(callsOf([kept], [], 2, false)[0]?.isTurnKept, false, "the turn failed");
});

test("the calls of a suspended turn do not show as failed", () => {
  const done = { id: "a", kind: "Tool", technicalName: "t", messageSequence: 3, durationMs: 5, result: "1", isTurnKept: false };
  const waiting = { ...done, id: "b", durationMs: 0, result: null, error: "the call waits", approval: "Pending" };
  const [first, second] = callsOf([done, waiting], [], 2, false);
  assert.deepEqual([first?.isRunning, first?.isTurnKept, first?.result], [false, undefined, "1"]);
  assert.deepEqual([second?.isRunning, second?.error, second?.isTurnKept], [true, null, undefined]);
  assert.equal(callsOf([done, { ...waiting, approval: "Denied" }], [], 2, false)[0]?.isTurnKept, false, "nobody can answer it");
  const ended = { ...waiting, isRunning: false, error: "canceled" };
  assert.equal(callsOf([waiting], [ended], 2, false)[0]?.isRunning, true);
  assert.equal(callsOf([waiting], [ended], 2, true)[0]?.isRunning, false, "the record is older than the event");
  const state = after({ kind: "started", question: { sequence: 3, text: "Hi" } }, { kind: "piece", turnId: "t", offset: 0, text: "One" }, { kind: "suspended" });
  assert.deepEqual([state.question?.text, state.draft, state.failure], ["Hi", undefined, undefined]);
});
