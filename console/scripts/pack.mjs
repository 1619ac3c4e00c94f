// Writes the built console to gateway/console/dist and RapiDoc to gateway/rest, compressed. With --check it compares
// them with the files there instead.
// It compares the uncompressed content, because compressed bytes may differ between machines.
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const built = join(root, "dist");
const target = join(root, "../gateway/console/dist");

/** The script with which /docs shows the OpenAPI description. */
const viewer = join(root, "../gateway/rest/rapidoc.js.gz");

/** Bytes of a first load: the page, its style, what its script imports, and the home page. */
const firstLoad = 130_000;
/** Bytes of the font, which comes with the first load. */
const font = 21_500;
/** Bytes of any other script. */
const lazyPage = 30_000;
/** Bytes of all files of the explorer, which the console never loads. */
const explorer = 1_650_000;
/** Bytes of RapiDoc. */
const rapidoc = 230_000;

async function files(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((e) => e.isFile()).map((e) => relative(folder, join(e.parentPath, e.name))).sort();
}

/** RapiDoc's script with all licenses, and without the address of a source map that is not served. */
async function readViewer() {
  const names = ["LICENSE.txt", "dist/rapidoc-min.js.LICENSE.txt", "dist/rapidoc-min.js"];
  const [license, others, script] = await Promise.all(names.map((name) => readFile(join(root, "node_modules/rapidoc", name), "utf8")));
  return Buffer.from(`/*!\n${license.trim()}\n*/\n${others.trim()}\n${script.replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n")}`);
}

async function check() {
  const [want, have] = [await files(built), await files(target)];
  const same = want.map((name) => `${name}.gz`).join() === have.join();
  const contents = same && (await Promise.all(want.map(async (name) => {
    return (await readFile(join(built, name))).equals(gunzipSync(await readFile(join(target, `${name}.gz`))));
  })));
  if (!contents || contents.includes(false)) {
    console.error("gateway/console/dist is not what console/ builds: run make console and commit");
    process.exit(1);
  }
  if (!(await readViewer()).equals(gunzipSync(await readFile(viewer)))) {
    console.error("gateway/rest/rapidoc.js.gz is not the locked RapiDoc: run make console and commit");
    process.exit(1);
  }
}

async function pack() {
  await writeFile(viewer, gzipSync(await readViewer(), { level: 9 }));
  await rm(target, { recursive: true, force: true });
  for (const name of await files(built)) {
    const path = join(target, `${name}.gz`);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, gzipSync(await readFile(join(built, name)), { level: 9 }));
  }
}

/** Fails when the console or the explorer exceeds its budget of bytes. */
async function weigh() {
  const sizes = new Map();
  for (const name of await files(target)) sizes.set(name, (await readFile(join(target, name))).length);
  const ofExplorer = ([name]) => /(^|\/)explore[.-]/.test(name);
  const pages = [...sizes].filter((file) => !ofExplorer(file));
  const entry = pages.map(([name]) => name).find((name) => /assets\/index-.*\.js/.test(name));
  const imported = await imports(entry, new Set([entry]));
  const isFirst = ([name]) => name.endsWith(".html.gz") || name.endsWith(".css.gz") || imported.has(name) || /assets\/Home-/.test(name);
  const sum = (list) => list.reduce((total, [, size]) => total + size, 0);
  const lazy = pages.filter((file) => file[0].endsWith(".js.gz") && !isFirst(file)).sort((a, b) => b[1] - a[1]);
  within("first load", sum(pages.filter(isFirst)), firstLoad);
  within("font", sum(pages.filter(([name]) => name.endsWith(".woff2.gz"))), font);
  within(`largest lazy script ${lazy[0][0]}`, lazy[0][1], lazyPage);
  within("explorer, all its files", sum([...sizes].filter(ofExplorer)), explorer);
  within("viewer of REST", (await readFile(viewer)).length, rapidoc);
}

function within(what, bytes, budget) {
  console.log(`${what}: ${bytes} bytes of ${budget}`);
  if (bytes <= budget) return;
  console.error("that is larger than its budget");
  process.exit(1);
}

/** The scripts that a script imports statically, directly or indirectly. */
async function imports(name, seen) {
  const text = gunzipSync(await readFile(join(target, name))).toString();
  for (const [, file] of text.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) {
    const path = `assets/${file}.gz`;
    if (!seen.has(path)) await imports(path, seen.add(path));
  }
  return seen;
}

await (process.argv.includes("--check") ? check() : pack());
await weigh();
