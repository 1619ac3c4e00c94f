import assert from "node:assert/strict";
import { test } from "node:test";
import { inWords, readValues, weightsAfter, type TestValues } from "./testValues";

const before: TestValues = {
  name: "Parks",
  folderId: "folder_1",
  scenario: "Asks where to park.",
  criteria: ['says "behind"', "ends the conversation"],
  maxTurns: 10,
  variables: { clinicName: "Harbour Street", visits: 3, gone: "stays", doctor: "Dr. Ray" },
};

function filled(values: Record<string, string>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(values)) form.set(name, value);
  return form;
}

const untouched = {
  name: "Parks",
  folderId: "folder_1",
  scenario: "Asks where to park.",
  criteria: 'says "behind"\nends the conversation',
  maxTurns: "10",
  "variables.clinicName": "Harbour Street",
  "variables.visits": "3",
  "variables.doctor": "Dr. Ray",
};

test("an untouched form changes nothing, and numbers do not become texts", () => {
  assert.deepEqual(readValues(filled(untouched), before), before);
});

test("variables can be changed and removed, and those that the form does not show remain", () => {
  const { variables } = readValues(filled({ ...untouched, "variables.visits": "4", "variables.doctor": "" }), before);
  assert.deepEqual(variables, { clinicName: "Harbour Street", visits: "4", gone: "stays" });
});

test("values that the key cannot read, and values of the other kind of test, are left out", () => {
  const { variables: _, ...unseen } = before;
  assert.ok(!("variables" in readValues(filled(untouched), unseen)));
  const classification: TestValues = { name: "Tags", folderId: "", tagExpected: "Emergency" };
  assert.deepEqual(readValues(filled({ name: "Tags", folderId: "", tagExpected: " Booked " }), classification), { ...classification, tagExpected: "Booked" });
});

test("empty lines are no criteria", () => {
  assert.deepEqual(readValues(filled({ ...untouched, criteria: "a\n\n  b \n" }), before).criteria, ["a", "b"]);
});

test("weights, checks and the persona are read from the form", () => {
  const judged: TestValues = { ...before, criteriaWeights: [], checks: [], passAt: 1, judgeSees: [], persona: {}, contactSays: [] };
  const empty = filled({ ...untouched, criteriaWeights: "[]", checks: "[]", passAt: "1", contactSays: "" });
  assert.deepEqual(readValues(empty, judged), judged);
  const form = filled({
    ...untouched, criteriaWeights: "[null,2]", passAt: "0.5", contactSays: "Hello\n–\nBye", "persona.mood": "Angry", "persona.patience": "3",
    checks: JSON.stringify([{ kind: "turnsAtMost", value: "6", more: "", weight: 1 }, { kind: "says", value: "", more: "{", weight: null }]),
  });
  form.append("judgeSees", "Prompt");
  form.append("judgeSees", "Date");
  const { criteriaWeights, checks, passAt, judgeSees, persona, contactSays } = readValues(form, judged);
  assert.deepEqual({ criteriaWeights, checks, passAt, judgeSees, persona, contactSays }, {
    criteriaWeights: [null, 2], checks: [{ expect: { turnsAtMost: 6 }, weight: 1 }], passAt: 0.5, judgeSees: ["Prompt", "Date"],
    persona: { mood: "Angry", patience: 3 }, contactSays: ["Hello", null, "Bye"],
  });
});

test("values are written in words", () => {
  const told = inWords(before, [{ id: "folder_1", name: "Getting here" }]);
  assert.equal(told.Folder, "Getting here");
  assert.equal(told["Data bag"], "clinicName: Harbour Street\nvisits: 3\ngone: stays\ndoctor: Dr. Ray");
});

test("a criterion that is rewritten keeps its weight", () => {
  const weights = { "greets": 3, "ends the call": null };
  const edited = weightsAfter(weights, ["greets", "ends the call"], ["greets by name", "ends the call"]);
  assert.equal(edited["greets by name"], 3);
  assert.equal(edited["ends the call"], null);
  assert.equal(weightsAfter(weights, ["greets"], ["greets", "says goodbye"])["says goodbye"], undefined);
  assert.equal(weightsAfter(edited, ["greets by name", "ends the call"], ["ends the call", "greets by name"])["ends the call"], null);
});
