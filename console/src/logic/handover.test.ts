import assert from "node:assert/strict";
import { test } from "node:test";
import { fragmentOf, handedOver } from "./handover";

test("an operation reaches the explorer unchanged", () => {
  const query = 'query Find($text: String = "a&b=c#d+é") {\n  agents(filter: { nameContains: $text }) { totalCount }\n}';
  const taken = handedOver(fragmentOf({ query, variables: { text: "50 % & more", after: null } }));
  assert.equal(taken?.query, query);
  assert.deepEqual(JSON.parse(taken.variables), { text: "50 % & more", after: null });
});

test("without variables their editor is empty, and other fragments give no operation", () => {
  assert.deepEqual(handedOver(fragmentOf({ query: "{ company { name } }", variables: {} })), { query: "{ company { name } }", variables: "" });
  assert.equal(handedOver("#code=abc"), undefined);
  assert.equal(handedOver(""), undefined);
});
