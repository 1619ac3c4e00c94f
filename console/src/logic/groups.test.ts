import assert from "node:assert/strict";
import { test } from "node:test";
import { eachOnce } from "./groups";

test("a place that was visited is not listed again among the agents", () => {
  const [clinic, hotel] = [{ to: "/agents/agent_1", text: "Clinic" }, { to: "/agents/agent_2", text: "Hotel" }];
  const groups = [{ name: "Recent", places: [clinic] }, { name: "Agents", places: [clinic, hotel] }, { name: "Campaigns", places: [] }];
  assert.deepEqual(eachOnce(groups), [{ name: "Recent", places: [clinic] }, { name: "Agents", places: [hotel] }]);
});
