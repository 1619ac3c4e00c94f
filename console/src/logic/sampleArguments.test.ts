import assert from "node:assert/strict";
import test from "node:test";
import { sampleArguments } from "./sampleArguments";

test("required parameters get a value of their type", () => {
  const parameters = {
    type: "object",
    properties: {
      day: { type: "string", examples: ["2026-11-02"] },
      count: { type: "integer" },
      size: { enum: ["S", "M"] },
      note: { type: "string" },
      guest: { type: ["object", "null"], properties: { name: { type: "string" } } },
    },
    required: ["day", "count", "size", "guest"],
  };
  assert.deepEqual(sampleArguments(parameters), { day: "2026-11-02", count: 1, size: "S", guest: { name: "" } });
});

test("without required parameters all are shown", () => {
  assert.deepEqual(sampleArguments({ type: "object", properties: { isUrgent: { type: "boolean" }, ids: { type: "array" } } }), { isUrgent: false, ids: [] });
  assert.deepEqual(sampleArguments({ type: "object" }), {});
});
