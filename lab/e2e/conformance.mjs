// Runs scenarios of the conformance suite of the Model Context Protocol against a server. It prints nothing if all pass.
// Usage: node conformance.mjs URL SPEC-VERSION SCENARIO...
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath, pathToFileURL } from "node:url";

const program = fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js"));

// The suite imports fs.globSync, which Node 20 lacks, for a command that is not used here.
const withGlob = `data:text/javascript,${encodeURIComponent("export * from 'node:fs'; export const globSync = () => [];")}`;
const hook = `export const resolve = (specifier, context, next) =>
  specifier === "fs" && context.parentURL?.includes("/@modelcontextprotocol/conformance/")
    ? { url: ${JSON.stringify(withGlob)}, shortCircuit: true } : next(specifier, context);`;
const loader = `data:text/javascript,${encodeURIComponent(
  `import { register } from "node:module"; register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hook)}`)});`,
)}`;

/**
 * Runs a scenario and resolves to the ids of the checks that failed.
 * @param {{url: string, scenario: string, version: string}} options `version` is a version of the protocol.
 */
export async function failures({ url, scenario, version }) {
  const flags = ["server", "--url", url, "--scenario", scenario, "--spec-version", version];
  const text = await new Promise((resolve) => {
    execFile(process.execPath, ["--import", loader, program, ...flags], (_, stdout, stderr) => resolve(stdout + stderr));
  });
  const plain = text.replaceAll(/\x1b\[[0-9;]*m/g, "");
  assert.match(plain, /^Passed: [1-9]\d*\/\d+/m, plain);
  return [...plain.matchAll(/\[([^\]\s]+)\s*\] (?:FAILURE|WARNING)/g)].map(([, id]) => id);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [url, version, ...scenarios] = process.argv.slice(2);
  for (const scenario of scenarios) assert.deepEqual(await failures({ url, scenario, version }), [], scenario);
}
