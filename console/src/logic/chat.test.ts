import assert from "node:assert/strict";
import { test } from "node:test";
import { chatAfter, emptyChat, type ChatEvent, type ChatMessage } from "./chat";

const after = (...events: ChatEvent[]) => events.reduce(chatAfter, emptyChat);
const message = (sequence: number, role: ChatMessage["role"] = "assistant"): ChatMessage => ({ sequence, role, text: `m${sequence}` });
const piece = (turnId: string, offset: number, text: string): ChatEvent => ({ kind: "piece", turnId, offset, text });

test("messages stand in order, each once, wherever they come from", () => {
  const state = after({ kind: "written", message: message(3) }, { kind: "read", messages: [message(1), message(2), message(3)] }, { kind: "written", message: message(2) });
  assert.deepEqual(state.messages.map((m) => m.sequence), [1, 2, 3]);
});

test("pieces make a draft, which the message ends", () => {
  assert.equal(after(piece("t", 0, "Hel"), piece("t", 3, "lo")).draft?.text, "Hello");
  assert.equal(after(piece("t", 0, "Hel"), { kind: "written", message: message(2) }).draft, undefined);
  assert.equal(after(piece("t", 0, "Hel"), { kind: "written", message: message(1, "user") }).draft?.text, "Hel");
});

test("what the contact said comes before the answer until it is a message", () => {
  const started: ChatEvent = { kind: "started", question: { sequence: 1, text: "Hi" } };
  assert.equal(after(started, piece("t", 0, "Hel")).question?.text, "Hi");
  assert.equal(after(started, { kind: "read", messages: [] }).question?.text, "Hi");
  assert.equal(after(started, { kind: "written", message: message(1, "user") }).question, undefined);
  assert.equal(after(started, { kind: "read", messages: [message(1, "user"), message(2)] }).question, undefined);
  assert.equal(after(started, { kind: "failed", reason: "timeout" }).question, undefined);
});

test("pieces of another turn begin again", () => {
  assert.equal(after(piece("t", 0, "Hel"), piece("u", 0, "Good")).draft?.text, "Good");
});

test("a piece that comes again is not doubled", () => {
  assert.equal(after(piece("t", 0, "Hel"), piece("t", 3, "lo"), piece("t", 3, "lo")).draft?.text, "Hello");
});

test("a hole shows", () => {
  assert.equal(after(piece("t", 5, " world"), piece("t", 11, "!")).draft?.text, "… world!");
  assert.equal(after(piece("t", 0, "a"), piece("t", 2, "c"), piece("t", 2, "cd")).draft?.text, "a…cd");
});

test("offsets count characters, not the halves of them", () => {
  assert.equal(after(piece("t", 0, "😀é"), piece("t", 2, "b"), piece("t", 1, "éb")).draft?.text, "😀éb");
});

test("a turn that failed takes its draft with it and says why", () => {
  const state = after(piece("t", 0, "Hel"), { kind: "failed", reason: "timeout" });
  assert.equal(state.draft, undefined);
  assert.equal(state.failure, "timeout");
  assert.equal(chatAfter(state, piece("u", 0, "x")).failure, undefined);
});

test("a call that ends replaces its beginning", () => {
  const call = { id: "c", kind: "Tool", technicalName: "t", messageSequence: 1, isRunning: true };
  const state = after({ kind: "called", call }, { kind: "called", call: { ...call, isRunning: false, result: "1" } });
  assert.deepEqual(state.calls.map((c) => c.isRunning), [false]);
});
