import assert from "node:assert/strict";
import { test } from "node:test";
import { holds, sessionScopes } from "./scopes";

test("a scope includes the scopes that it implies", () => {
  assert.ok(holds(["write"], "contacts"));
  assert.ok(holds(["prompts"], "browse"));
  assert.ok(holds(["admin"], "simulate"));
  assert.ok(!holds(["prompts", "contacts"], "consumption"));
  assert.ok(!holds(["read"], "write"));
  assert.ok(!holds(["chat"], "browse"));
});

test("a session has the scopes of its key, except admin", () => {
  assert.deepEqual(sessionScopes(["prompts", "consumption"]), ["prompts", "consumption"]);
  assert.deepEqual(sessionScopes(["admin"]), ["read", "write", "simulate"]);
  assert.deepEqual(sessionScopes(["chat"]), []);
});
