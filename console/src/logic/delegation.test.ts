import assert from "node:assert/strict";
import { test } from "node:test";
import { around, isCycle } from "./delegation";

const agent = (id: string, ...subs: string[]) => ({ id, subAgents: subs.map((sub) => ({ agent: { id: sub } })) });
// reception → renewals ⇄ cards → delivery, and a loner that delegates to itself
const agents = [agent("reception", "renewals"), agent("renewals", "cards"), agent("cards", "renewals", "delivery"), agent("delivery"), agent("loner", "loner")];

test("a delegation is in a cycle if other delegations lead back", () => {
  assert.ok(isCycle(agents, "renewals", "cards"));
  assert.ok(isCycle(agents, "cards", "renewals"));
  assert.ok(isCycle(agents, "loner", "loner"));
  assert.ok(!isCycle(agents, "reception", "renewals"));
  assert.ok(!isCycle(agents, "cards", "delivery"));
});

test("steps are counted in both directions", () => {
  const near = (id: string, steps: number) => around(agents, id, steps).map((found) => found.id);
  assert.deepEqual(near("cards", 1), ["renewals", "cards", "delivery"]);
  assert.deepEqual(near("delivery", 2), ["renewals", "cards", "delivery"]);
  assert.deepEqual(near("delivery", 3), ["reception", "renewals", "cards", "delivery"]);
  assert.deepEqual(near("loner", 5), ["loner"]);
});
