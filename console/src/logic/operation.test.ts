import assert from "node:assert/strict";
import { test } from "node:test";
import { operationOf } from "./operation";

test("the named operation is found, and a single operation under any name", () => {
  const name = (query: string, wanted?: string) => operationOf(query, wanted)?.name?.value;
  assert.equal(name("query A { a } subscription B { b }", "B"), "B");
  assert.equal(name("query A { a } query B { b }", "C"), undefined);
  assert.equal(name("query A { a } fragment F on A { a }", "Before"), "A");
  assert.equal(operationOf("subscription { a }", undefined)?.operation, "subscription");
  assert.equal(operationOf("query {", undefined), undefined);
});
