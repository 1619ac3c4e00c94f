// A proxy in front of a gateway that fails every answer of REST that is not as its OpenAPI document says.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The path of a program that npm installed. */
export const program = (name) => fileURLToPath(new URL(`node_modules/.bin/${name}`, import.meta.url));

/** Resolves with the document that the gateway serves. */
export async function documentOf(gateway) {
  const response = await fetch(`${gateway.restUrl}/openapi.json`);
  assert.equal(response.status, 200);
  return response.json();
}

/** Has a document allow no other properties than it names: answers may have more one day, and not unnoticed. */
function close(document) {
  for (const schema of Object.values(document.components.schemas)) {
    if (schema.properties) schema.additionalProperties ??= false;
  }
  return document;
}

async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/**
 * Starts the proxy and resolves once it listens at `url`. `describes` tells whether the document has an operation at a
 * path, in the document's own spelling; to anything else the proxy has its own answer.
 * @param change changes the document before.
 */
export async function startProxy(gateway, change = () => {}) {
  const document = close(await documentOf(gateway));
  change(document);
  const directory = await mkdtemp(join(tmpdir(), "agentgraph-openapi-"));
  const file = join(directory, "openapi.json");
  await writeFile(file, JSON.stringify(document));
  const port = await freePort();
  // Faulty requests are for the gateway to refuse.
  const options = ["--port", port, "--errors", "--validate-request=false", "--cors=false"];
  const child = spawn(program("prism"), ["proxy", file, gateway.restUrl, ...options], { stdio: ["ignore", "pipe", "pipe"] });
  process.once("exit", () => child.kill());
  const exited = once(child, "close");
  let log = "";
  await new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        log += text;
        if (log.includes("Prism is listening on")) resolve();
      });
    }
    exited.then(() => reject(new Error(`the proxy ended:\n${log}`)));
  });
  const paths = Object.entries(document.paths).map(([path, item]) => [new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}$`), item]);
  return {
    url: `http://127.0.0.1:${port}`,
    describes: (method, path) => paths.some(([pattern, item]) => pattern.test(path.split("?")[0]) && item[method.toLowerCase()]),
    async stop() {
      child.kill();
      await exited;
      await rm(directory, { recursive: true });
    },
  };
}
