import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsAt, unshownFaults } from "./faults";

const refused = (fields: Record<string, string[]>) => ({ graphQLErrors: [{ message: "no", extensions: { code: "BAD_USER_INPUT", fields } }] });

test("a fault stands at its field, and those of its parts do too", () => {
  const error = refused({ name: ["is empty"], "items.3.phoneNumber": ["is no number"] });
  assert.deepEqual(faultsAt(error, "name"), ["is empty"]);
  assert.deepEqual(faultsAt(error, "items"), ["is no number"]);
  assert.deepEqual(faultsAt(error, "item"), []);
  assert.deepEqual(faultsAt(undefined, "name"), []);
});

test("what stands at no field is said by the form", () => {
  const error = refused({ name: ["is empty"], color: ["is none"] });
  assert.deepEqual(unshownFaults(error, ["name"]), ["color: is none"]);
  assert.deepEqual(unshownFaults(error, ["name", "color"]), []);
  assert.equal(unshownFaults({ graphQLErrors: [{ message: "no", extensions: { code: "CONFLICT" } }] }, []), undefined);
});
