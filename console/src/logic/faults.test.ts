import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsAt, unshownFaults } from "./faults";

const refused = (fields: Record<string, string[]>) => ({ graphQLErrors: [{ message: "no", extensions: { code: "BAD_USER_INPUT", fields } }] });

test("a field shows its own faults and those of its parts", () => {
  const error = refused({ name: ["is empty"], "items.3.phoneNumber": ["is no number"] });
  assert.deepEqual(faultsAt(error, "name"), ["is empty"]);
  assert.deepEqual(faultsAt(error, "items"), ["is no number"]);
  assert.deepEqual(faultsAt(error, "item"), []);
  assert.deepEqual(faultsAt(undefined, "name"), []);
  assert.deepEqual(faultsAt(error, "items", ["a", "b", "c", "d"]), ["d is no number"]);
  assert.deepEqual(faultsAt(error, "name", ["a"]), ["is empty"]);
});

test("the form shows the faults that no field shows", () => {
  const error = refused({ name: ["is empty"], color: ["is none"] });
  assert.deepEqual(unshownFaults(error, ["name"]), ["color: is none"]);
  assert.deepEqual(unshownFaults(error, ["name", "color"]), []);
  assert.equal(unshownFaults({ graphQLErrors: [{ message: "no", extensions: { code: "CONFLICT" } }] }, []), undefined);
});
