import assert from "node:assert/strict";
import { test } from "node:test";
import { delegations, widthOf } from "./paths";

const agents = [
  { id: "a", subAgents: [{ id: "ab", technicalName: "to_b", agent: { id: "b" } }] },
  { id: "b", subAgents: [{ id: "bc", technicalName: "to_c", agent: { id: "c" } }] },
  { id: "c", subAgents: [] },
];

test("delegations are followed from the chat's agent through its sub-agents", () => {
  const calls = [
    { id: "1", kind: "Tool", technicalName: "look", delegationId: null },
    { id: "2", kind: "SubAgent", technicalName: "to_b", delegationId: null },
    { id: "3", kind: "SubAgent", technicalName: "to_c", delegationId: "2" },
    { id: "4", kind: "SubAgent", technicalName: "gone", delegationId: null },
  ];
  assert.deepEqual(delegations(agents, "a", calls), [{ connection: "ab", to: "b" }, { connection: "bc", to: "c" }]);
});

test("the more a line is used, the wider it is", () => {
  assert.equal(widthOf(0, 9), 1.25);
  assert.equal(widthOf(9, 9), 4);
  assert.ok(widthOf(1, 9) < widthOf(4, 9));
});
