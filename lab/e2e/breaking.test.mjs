// The check of the schema against the last release.
import assert from "node:assert/strict";
import { test } from "node:test";
import { unannounced } from "./breaking.mjs";

const before = "type Query { agents: Int, tools(first: Int): Int }";
const paths = async (now, changelog = "") => (await unannounced(before, now, changelog)).map(({ path }) => path);

test("what breaks clients needs a note", async () => {
  const now = "type Query { tools(first: Int!): Int }";
  assert.deepEqual((await paths(now)).sort(), ["Query.agents", "Query.tools.first"]);
  const noted = "## Unreleased\n\n### Breaking\n\n- `Query.agents` is gone.\n\n### Added\n\n- `Query.tools.first`\n\n## 1.0\n\n### Breaking\n\n- `Query.tools.first`\n";
  assert.deepEqual(await paths(now, noted), ["Query.tools.first"]);
});

test("what is added does not", async () => {
  assert.deepEqual(await paths(`${before} extend type Query { chats: Int }`), []);
});
