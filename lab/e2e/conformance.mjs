// Runs the conformance suite of the Model Context Protocol against a server. It prints nothing if the scenarios pass.
// Usage: node conformance.mjs URL SPEC-VERSION SCENARIO...
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
 * Runs all scenarios of a version of the protocol, and resolves to the ids of the checks that failed, by scenario.
 * Scenarios without a check that passed are left out.
 * @param {{url: string, version: string}} options
 */
export async function failures({ url, version }) {
  const folder = await mkdtemp(join(tmpdir(), "conformance-"));
  try {
    const flags = ["server", "--url", url, "--suite", "all", "--spec-version", version, "--output-dir", folder];
    const text = await new Promise((resolve) => {
      execFile(process.execPath, ["--import", loader, program, ...flags], (_, stdout, stderr) => resolve(stdout + stderr));
    });
    const found = {};
    for (const name of await readdir(folder)) {
      const checks = JSON.parse(await readFile(join(folder, name, "checks.json"), "utf8"));
      const scenario = name.replace(/^server-|-\d{4}-\d\d-\d\dT.*$/g, "");
      const failed = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
      if (checks.some(({ status }) => status === "SUCCESS")) found[scenario] = failed.map(({ id }) => id);
    }
    assert.ok(Object.keys(found).length > 0, text);
    return found;
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [url, version, ...scenarios] = process.argv.slice(2);
  const found = await failures({ url, version });
  for (const scenario of scenarios) assert.deepEqual(found[scenario], [], scenario);
}
