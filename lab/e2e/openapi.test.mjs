// The OpenAPI document of REST: linted, shown to people, and used by generated clients in TypeScript and Go. The clients
// talk through a proxy that fails any answer that differs from the document.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { documentOf, program, startProxy } from "./described.mjs";
import { startGateway } from "./gateway.mjs";

const run = promisify(execFile);
const gateway = await startGateway();
const proxy = await startProxy(gateway);
after(() => proxy.stop());
after(() => gateway.stop());

// Below node_modules, where the generated client finds its library.
const workshop = fileURLToPath(new URL("node_modules/.cache/agentgraph/", import.meta.url));
await mkdir(workshop, { recursive: true });
const file = join(workshop, "openapi.json");
await writeFile(file, JSON.stringify(await documentOf(gateway)));

test("the document has no fault that a linter finds", async () => {
  const config = fileURLToPath(new URL("redocly.yaml", import.meta.url));
  const { stdout } = await run(program("redocly"), ["lint", file, "--config", config, "--format", "json"], {
    env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
  });
  const { totals, problems } = JSON.parse(stdout.slice(stdout.indexOf("{")));
  assert.deepEqual([totals.errors, totals.warnings], [0, 0], JSON.stringify(problems, null, 2));
});

describe("what everybody may read", () => {
  for (const [path, type] of [["/openapi.json", "application/json"], ["/docs", "text/html"], ["/docs/docs.js", "text/javascript"], ["/docs/rapidoc.js", "text/javascript"]]) {
    test(`${path} needs no key and is cached`, async () => {
      const answer = await fetch(gateway.restUrl + path);
      assert.equal(answer.status, 200);
      assert.match(answer.headers.get("content-type"), new RegExp(`^${type}`));
      assert.match(answer.headers.get("cache-control"), /^public, max-age=/);
      assert.equal(answer.headers.get("content-encoding"), "gzip");
      const again = await gateway.request("GET", path, {
        headers: { "x-api-key": undefined, "accept-encoding": "gzip", "if-none-match": answer.headers.get("etag") },
      });
      assert.deepEqual([again.status, again.text], [304, ""]);
    });
  }
});

test("the proxy fails an answer that differs from the document", async () => {
  const picky = await startProxy(gateway, (document) => {
    document.components.schemas.Dataset.properties.name = { type: "integer" };
  });
  try {
    const headers = { "X-Api-Key": gateway.key, "Content-Type": "application/json" };
    const answer = await fetch(`${picky.url}/Dataset`, { method: "POST", headers, body: '{"name":"Prices"}' });
    assert.equal(answer.status, 500);
    assert.match(await answer.text(), /response\.body\.name|must be integer/);
  } finally {
    await picky.stop();
  }
});

test("openapi-typescript writes types, and openapi-fetch is a client with them", async () => {
  // What has a default may be left out of a request.
  await run(program("openapi-typescript"), [file, "--output", join(workshop, "v1.d.ts"), "--default-non-nullable=false"]);
  await cp(new URL("client.ts", import.meta.url), join(workshop, "client.ts"));
  const options = ["--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "--types", "node", "--outDir", workshop];
  await writeFile(join(workshop, "package.json"), '{"type":"module"}');
  const compiled = await run(program("tsc"), [...options, "client.ts"], { cwd: workshop }).catch((error) => error);
  assert.equal(compiled.stdout, "", "the client does not fit the types");
  const { useClient } = await import(pathToFileURL(join(workshop, "client.js")));
  await useClient(proxy.url, gateway.key, await gateway.createAgent());
});

test("oapi-codegen writes a client in Go", { timeout: 300_000 }, async () => {
  const folder = fileURLToPath(new URL("goclient", import.meta.url));
  const go = (...args) => run("go", args, { cwd: folder });
  await mkdir(join(folder, "v1"), { recursive: true });
  await go("tool", "oapi-codegen", "-config", "v1.yaml", file);
  await go("run", ".", proxy.url, gateway.key, await gateway.createAgent());
});
