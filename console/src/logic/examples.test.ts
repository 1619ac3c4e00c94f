import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { buildSchema, parse, validate } from "graphql";
import { examples, knownQuery } from "../explorer/examples";

const folder = new URL("../../../schema/", import.meta.url);
const schema = buildSchema(readdirSync(folder).filter((name) => name.endsWith(".graphqls")).map((name) => readFileSync(new URL(name, folder), "utf8")).join("\n"), {
  assumeValid: true,
});

test("the explorer's examples match the schema", () => {
  for (const { name, query } of [...examples, { name: "Known", query: knownQuery }]) {
    assert.deepEqual(validate(schema, parse(query)).map((error) => error.message), [], name);
  }
});
