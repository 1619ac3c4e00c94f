import assert from "node:assert/strict";
import { test } from "node:test";
import { actionOf, expectsText, visited } from "./keys";

test("a letter leads to a section only after g", () => {
  assert.deepEqual(actionOf("a", true), { go: "/agents" });
  assert.equal(actionOf("a", false), undefined);
  assert.equal(actionOf("g", false), "wait");
  assert.equal(actionOf("q", true), undefined);
  assert.equal(actionOf("?", false), "help");
  assert.equal(actionOf("/", false), "filter");
});

test("single keys are not commands on chat pages", () => {
  assert.ok(expectsText("/console/chats/new"));
  assert.ok(expectsText("/console/chats/simchat_01m81p6tm4ea2t5r54fba12ybw"));
  assert.ok(expectsText("/tools/ag/console/knowledge/chats/kbchat_1"));
  assert.ok(!expectsText("/console/chats"));
  assert.ok(!expectsText("/console/runs/run_1"));
});

test("a place that is visited again moves to the front", () => {
  const a = { to: "/a", text: "A" };
  const b = { to: "/b", text: "B" };
  assert.deepEqual(visited([b, a], { to: "/a", text: "A, renamed" }, 2), [{ to: "/a", text: "A, renamed" }, b]);
  assert.deepEqual(visited([b, a], { to: "/c", text: "C" }, 2), [{ to: "/c", text: "C" }, b]);
});
