import assert from "node:assert/strict";
import { test } from "node:test";
import { actionOf, found, visited } from "./keys";

test("a letter leads to a section only after g", () => {
  assert.deepEqual(actionOf("a", true), { go: "/agents" });
  assert.equal(actionOf("a", false), undefined);
  assert.equal(actionOf("g", false), "wait");
  assert.equal(actionOf("q", true), undefined);
  assert.equal(actionOf("?", false), "help");
  assert.equal(actionOf("/", false), "filter");
});

test("places are found by all words, whatever the case and the accents", () => {
  const places = ["Retours boutique", "Enlèvement du colis", "Du côté boutique"].map((text) => ({ to: text, text }));
  const names = (text: string) => found(places, text, 5).map((place) => place.text);
  assert.deepEqual(names("enleve"), ["Enlèvement du colis"]);
  assert.deepEqual(names("du"), ["Du côté boutique", "Enlèvement du colis"]);
  assert.deepEqual(names("boutique ret"), ["Retours boutique"]);
  assert.deepEqual(names("nothing"), []);
  assert.equal(found(places, "", 2).length, 2);
});

test("a place that is visited again moves to the front", () => {
  const a = { to: "/a", text: "A" };
  const b = { to: "/b", text: "B" };
  assert.deepEqual(visited([b, a], { to: "/a", text: "A, renamed" }, 2), [{ to: "/a", text: "A, renamed" }, b]);
  assert.deepEqual(visited([b, a], { to: "/c", text: "C" }, 2), [{ to: "/c", text: "C" }, b]);
});
