// The schema as one file, and introspection beside graphql-js's own of the same file.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { buildSchema, getIntrospectionQuery, introspectionFromSchema, validateSchema } from "graphql";
import { startGateway } from "./gateway.mjs";

const gateway = await startGateway();
after(() => gateway.stop());

const everything = {
  descriptions: true, specifiedByUrl: true, directiveIsRepeatable: true, schemaDescription: true, inputValueDeprecation: true, oneOf: true,
};

/** Puts lists whose order means nothing in one order. */
function sorted(value) {
  if (Array.isArray(value)) {
    const all = value.map(sorted);
    return all.every((one) => typeof one?.name === "string") ? all.sort((a, b) => (a.name < b.name ? -1 : 1)) : all;
  }
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, sorted(member)]));
}

const own = (name) => !name.startsWith("__");
// What a library defines by itself is described in its own words.
const builtIn = new Set(["Int", "Float", "String", "Boolean", "ID"]);
const scalars = ({ name }) => own(name) && !builtIn.has(name);
const written = new Set(["skip", "include", "deprecated", "specifiedBy", "oneOf"]);

test("introspection is that of graphql-js", async () => {
  const { text } = await gateway.request("GET", "/schema.graphql");
  const schema = buildSchema(text);
  assert.deepEqual(validateSchema(schema), []);
  const want = introspectionFromSchema(schema, everything).__schema;
  const { __schema: got } = await gateway.graphql(getIntrospectionQuery(everything));
  const types = (from) => new Map(sorted(from.types.filter(scalars)).map((type) => [type.name, type]));
  const [wanted, given] = [types(want), types(got)];
  assert.deepEqual([...given.keys()], [...wanted.keys()]);
  for (const [name, type] of wanted) assert.deepEqual(given.get(name), type);
  // That a directive itself may be deprecated is a draft, which only graphql-js knows.
  const directives = (from) => sorted(from.directives.filter(({ name }) => !written.has(name)))
    .map(({ isDeprecated, deprecationReason, ...directive }) => directive);
  assert.deepEqual(directives(got), directives(want));
  for (const root of ["queryType", "mutationType", "subscriptionType", "description"]) assert.deepEqual(sorted(got[root]), sorted(want[root]));
});

test("descriptions tell what scopes and costs are", async () => {
  const { text } = await gateway.request("GET", "/schema.graphql");
  const { sendSimulationMessage } = buildSchema(text).getMutationType().getFields();
  assert.match(sendSimulationMessage.description, /Needs the scope `simulate`, or `chat`\. Costs 20000\. Uses a language model\.$/);
  assert.ok(buildSchema(text).getType("Upload").specifiedByURL.startsWith("https://"));
});

test("only whoever has a key gets it, compressed", async () => {
  assert.equal((await gateway.request("GET", "/schema.graphql", { headers: { "x-api-key": undefined } })).status, 401);
  const compressed = await gateway.request("GET", "/schema.graphql", { headers: { "accept-encoding": "gzip" } });
  assert.equal(compressed.headers["content-encoding"], "gzip");
  assert.equal(compressed.headers["content-type"], "application/graphql; charset=utf-8");
});
