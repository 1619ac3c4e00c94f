import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { curl } from "./curl";

test("the shell passes exactly the written text to curl", () => {
  const request = { query: '{ agents(filter: {nameContains: "it\'s $HOME `x`"}) { nodes { id } } }', variables: { a: "'\\\n" } };
  const command = curl("http://127.0.0.1:8080/graphql", request).replace(/^curl/, "printf '%s\\0'");
  const words = execFileSync("sh", ["-c", command], { env: { AGENTGRAPH_API_KEY: "ag_1" }, encoding: "utf8" }).split("\0");
  assert.deepEqual(words.slice(0, 6), ["-s", "http://127.0.0.1:8080/graphql", "-H", "X-Api-Key: ag_1", "-H", "Content-Type: application/json"]);
  assert.deepEqual(JSON.parse(words[7] ?? ""), request);
});

test("subscriptions are sent as such, and empty variables are left out", () => {
  const command = curl("/graphql", { query: "subscription { x }", variables: {}, operationName: "X" });
  assert.match(command, /-N -H 'Accept: text\/event-stream'/);
  assert.match(command, /-d '{"query":"subscription { x }","operationName":"X"}'$/);
});
