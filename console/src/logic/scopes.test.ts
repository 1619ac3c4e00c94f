import assert from "node:assert/strict";
import { test } from "node:test";
import { holds, sessionScopes } from "./scopes";

test("a scope stands for those that it holds", () => {
  assert.ok(holds(["write"], "contacts"));
  assert.ok(holds(["prompts"], "browse"));
  assert.ok(holds(["admin"], "simulate"));
  assert.ok(!holds(["prompts", "contacts"], "consumption"));
  assert.ok(!holds(["read"], "write"));
  assert.ok(!holds(["chat"], "browse"));
});

test("a session may do what its key may, and never administer", () => {
  assert.deepEqual(sessionScopes(["prompts", "consumption"]), ["prompts", "consumption"]);
  assert.deepEqual(sessionScopes(["admin"]), ["read", "write", "simulate"]);
  assert.deepEqual(sessionScopes(["chat"]), []);
});
