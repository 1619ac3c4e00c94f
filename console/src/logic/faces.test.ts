import assert from "node:assert/strict";
import { test } from "node:test";
import { fnv1a32, hueOf, initials } from "./faces";

test("the hash is FNV-1a", () => {
  assert.equal(fnv1a32(""), 0x811c9dc5);
  assert.equal(fnv1a32("a"), 0xe40c292c);
  assert.equal(fnv1a32("foobar"), 0xbf9cf968);
});

test("an agent has one of ten colors", () => {
  for (let i = 0; i < 100; i++) assert.ok(hueOf(`agent_${i}`) >= 0 && hueOf(`agent_${i}`) < 10);
  assert.equal(hueOf("agent_1"), hueOf("agent_1"));
});

test("initials are the first letters of two words", () => {
  assert.equal(initials("Clinic reception"), "CR");
  assert.equal(initials("Delivery by text message"), "DB");
  assert.equal(initials("Réception"), "RÉ");
  assert.equal(initials("  –  "), "?");
  assert.equal(initials("x"), "X");
});
