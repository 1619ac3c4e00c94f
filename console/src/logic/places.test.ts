import assert from "node:assert/strict";
import { test } from "node:test";
import { found, placeOfId, withoutVerb } from "./places";

test("places are found by all words, whatever the case and the accents", () => {
  const places = ["Retours boutique", "Enlèvement du colis", "Du côté boutique"].map((text) => ({ to: text, text }));
  const names = (text: string) => found(places, text, 5).map((place) => place.text);
  assert.deepEqual(names("enleve"), ["Enlèvement du colis"]);
  assert.deepEqual(names("du"), ["Du côté boutique", "Enlèvement du colis"]);
  assert.deepEqual(names("boutique ret"), ["Retours boutique"]);
  assert.deepEqual(names("nothing"), []);
  assert.equal(found(places, "", 2).length, 2);
  const action = { to: "/agents?new=agent", text: "New agent", synonyms: "create add" };
  assert.deepEqual(found([action], "create ag", 2), [action]);
});

test("an id leads to its page", () => {
  assert.deepEqual(placeOfId(" run_01m81p6tm4ea2t5r54fba12ybw"), { to: "/runs/run_01m81p6tm4ea2t5r54fba12ybw", text: "Open run_01m81p6tm4ea2t5r54fba12ybw" });
  assert.equal(placeOfId("test_01m81p6tm4ea2t5r54fba12ybw")?.to, "/tests/test_01m81p6tm4ea2t5r54fba12ybw");
  assert.equal(placeOfId("run_01m81"), undefined);
  assert.equal(placeOfId("key_01m81p6tm4ea2t5r54fba12ybw"), undefined);
});

test("an action on an agent is about the text after its words", () => {
  assert.deepEqual(["label", "label verdicts of card", "chat w", "card", "tests of Tests bot", "", "clinic chat"].map(withoutVerb), ["", "card", "", "card", "bot", "", "clinic chat"]);
});
