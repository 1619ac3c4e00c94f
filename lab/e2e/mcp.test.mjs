// MCP: the conformance suite of the protocol's authors, and the command line of their inspector.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { failures } from "./conformance.mjs";
import { startGateway } from "./gateway.mjs";

const gateway = await startGateway();
after(() => gateway.stop());
const address = new URL(gateway.restUrl);

// The suite sends no key, so a proxy adds it.
const proxy = http.createServer((request, response) => {
  const headers = { ...request.headers, "x-api-key": gateway.key };
  const passed = http.request(
    { host: address.hostname, port: address.port, path: request.url, method: request.method, headers },
    (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    },
  );
  passed.on("error", () => response.destroy());
  request.pipe(passed);
});
proxy.listen(0, "127.0.0.1");
await once(proxy, "listening");
after(() => proxy.close());
const url = `http://127.0.0.1:${proxy.address().port}/mcp`;

// Scenarios that need no tools of their own. There are no sessions, sampling, elicitation and subscriptions to resources.
const scenarios = {
  "2025-06-18": ["server-initialize", "ping", "tools-list", "resources-list", "prompts-list"],
  "2025-11-25": ["server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection"],
  "2026-07-28": [
    "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection", "caching", "http-header-validation",
    "sep-2164-resource-not-found", "server-sse-multiple-streams", "server-stateless",
  ],
};

// Checks that call a tool of the suite's own. They run in TestConformance, where these tools exist.
const excused = {
  "server-stateless": [
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
  ],
};

describe("the conformance suite", () => {
  for (const [version, names] of Object.entries(scenarios)) {
    test(version, async (t) => {
      const found = await failures({ url, version });
      for (const scenario of names) await t.test(scenario, () => assert.deepEqual(found[scenario], excused[scenario] ?? []));
    });
  }
  test("scenarios with tools of their own", async () => {
    const environment = { ...process.env, AGENTGRAPH_CONFORMANCE: "1" };
    const flags = ["test", "./gateway/mcp", "-run", "TestConformance", "-count=1"];
    const { stdout } = await promisify(execFile)("go", flags, { cwd: new URL("../..", import.meta.url), env: environment });
    assert.match(stdout, /^ok /);
  });
});

describe("the inspector", () => {
  const cli = fileURLToPath(import.meta.resolve("@modelcontextprotocol/inspector-cli/build/cli.js"));
  const program = fileURLToPath(new URL("../../bin/agentgraph-race", import.meta.url));
  const environment = { ...process.env, AGENTGRAPH_URL: gateway.restUrl, AGENTGRAPH_API_KEY: gateway.key };
  const doors = {
    "streamable HTTP": [`${gateway.restUrl}/mcp`, "--transport", "http", "--header", `X-Api-Key: ${gateway.key}`],
    "agentgraph mcp": [program, "mcp"],
  };
  for (const [name, door] of Object.entries(doors)) {
    test(name, async () => {
      const inspect = async (...flags) => {
        const { stdout } = await promisify(execFile)(process.execPath, [cli, "--cli", ...door, ...flags], { env: environment });
        return JSON.parse(stdout);
      };
      const { tools } = await inspect("--method", "tools/list");
      assert.ok(tools.length > 25, `${tools.length} tools`);
      const found = await inspect("--method", "tools/call", "--tool-name", "find_agents", "--tool-arg", "nameContains=Clinic");
      assert.equal(found.structuredContent.agents[0].name, "Clinic reception");
      // The inspector refuses a result that differs from the output schema. Tests have two kinds.
      const red = ["--tool-name", "find_tests", "--tool-arg", 'lastRunStatuses=["Failed"]'];
      const { tests } = (await inspect("--method", "tools/call", ...red)).structuredContent;
      const why = await inspect("--method", "tools/call", "--tool-name", "explain_red_test", "--tool-arg", `testId=${tests[0].id}`);
      assert.ok(why.structuredContent.blame.changes.length > 0);
      const { resources } = await inspect("--method", "resources/list");
      assert.ok(resources.some((resource) => resource.name === "Clinic reception"));
    });
  }
});
