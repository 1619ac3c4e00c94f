import assert from "node:assert/strict";
import { test } from "node:test";
import { promptPieces, unknownPlaceholders } from "./placeholders";

test("a prompt is cut at its placeholders and nothing is lost", () => {
  const prompt = 'Hello {firstName}, answer {"json": true} about {plan.name}{x}.';
  const pieces = promptPieces(prompt);
  assert.equal(pieces.map((p) => p.text).join(""), prompt);
  assert.deepEqual(pieces.flatMap((p) => p.name ?? []), ["firstName", "plan.name", "x"]);
});

test("braces without a name are text", () => {
  for (const prompt of ["", "{}", "{ name }", "{1a}", "{a-b}", "{", "{a"]) {
    assert.deepEqual(promptPieces(prompt).flatMap((p) => p.name ?? []), []);
  }
});

test("unknown placeholders are named once", () => {
  assert.deepEqual(unknownPlaceholders("{b} {a} {c} {b}", [{ name: "a" }]), ["b", "c"]);
});
