// Compares the schema with that of the last release. Whoever breaks clients has to say so: a breaking change needs its
// place, such as `Query.agents`, in the section "Breaking" of what the changelog says of the next release.
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CriticalityLevel, diff } from "@graphql-inspector/core";
import { buildSchema } from "graphql";

/** Returns the breaking changes from one schema to another of which the changelog does not tell. */
export async function unannounced(before, now, changelog) {
  const unreleased = /^## Unreleased$(.*?)(?=^## |(?![\s\S]))/ms.exec(changelog)?.[1] ?? "";
  const breaking = /^### Breaking$(.*?)(?=^### |(?![\s\S]))/ms.exec(unreleased)?.[1] ?? "";
  const changes = await diff(buildSchema(before), buildSchema(now));
  return changes.filter(({ criticality, path }) => criticality.level === CriticalityLevel.Breaking && !breaking.includes(`\`${path}\``));
}

function main() {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const git = (...parameters) => execFileSync("git", parameters, { cwd: root, encoding: "utf8" });
  const [tag] = git("tag", "--merged", "HEAD", "--list", "v*", "--sort=-v:refname").split("\n");
  if (!tag) {
    console.log("there is no release yet");
    return;
  }
  const ours = (name) => name.endsWith(".graphqls");
  const before = git("ls-tree", "--name-only", tag, "schema/").split("\n").filter(ours).map((name) => git("show", `${tag}:${name}`));
  const now = readdirSync(`${root}/schema`).filter(ours).map((name) => readFileSync(`${root}/schema/${name}`, "utf8"));
  unannounced(before.join("\n"), now.join("\n"), readFileSync(`${root}/CHANGELOG.md`, "utf8")).then((changes) => {
    if (changes.length === 0) return;
    console.error(`breaking changes since ${tag}, without a note under "### Breaking" in CHANGELOG.md:`);
    for (const { path, message } of changes) console.error(`  \`${path}\`: ${message}`);
    process.exitCode = 1;
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
