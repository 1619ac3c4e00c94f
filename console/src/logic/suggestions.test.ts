import assert from "node:assert/strict";
import { test } from "node:test";
import { suggestions } from "./suggestions";

test("suggestions are the first lines in scenarios, except those that were said already", () => {
  const scenarios = ['says: "Where can I park?"\nsays: "Thank you"', 'says: "It smells burnt"', "Asks for a refund.", 'says: "Where can I park?"', 'says: "I am {name}"'];
  assert.deepEqual(suggestions(scenarios, new Set()), ["Where can I park?", "It smells burnt"]);
  assert.deepEqual(suggestions(scenarios, new Set(["It smells burnt"])), ["Where can I park?"]);
});
