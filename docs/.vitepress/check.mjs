// Fails for each link in the built site to a page, file or anchor of the site that does not exist.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const dist = fileURLToPath(new URL("dist", import.meta.url));
const base = process.env.DOCS_URL ? `${new URL(process.env.DOCS_URL).pathname.replace(/\/$/, "")}/` : "/";

const plain = (text) => text.replace(/&quot;/g, '"').replace(/&#39;/g, "'").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
const attributes = (html, names) => [...html.matchAll(new RegExp(`\\s(?:${names})="([^"]*)"`, "g"))].map((found) => plain(found[1]));

const pages = new Map();
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  if (!entry.name.endsWith(".html")) continue;
  const file = join(entry.parentPath, entry.name);
  const html = readFileSync(file, "utf8");
  pages.set(relative(dist, file), { ids: new Set(attributes(html, "id|name")), links: new Set(attributes(html, "href|src")) });
}

/** The page or file that an address of the site leads to, as a path in dist. */
function fileOf(path) {
  const name = path.slice(base.length);
  return [name, `${name}.html`, join(name, "index.html")].find((file) => file && !file.endsWith("/") && (pages.has(file) || existsSync(join(dist, file))));
}

let checked = 0;
const dead = [];
for (const [name, { links }] of pages) {
  for (const link of links) {
    const to = new URL(link, `https://site.invalid${base}${name}`);
    if (to.host !== "site.invalid") continue;
    checked++;
    const file = to.pathname.startsWith(base) ? fileOf(to.pathname) : undefined;
    const anchor = decodeURIComponent(to.hash.slice(1));
    if (!file) dead.push(`${name} links to ${link}, which does not exist`);
    else if (anchor && !pages.get(file)?.ids.has(anchor)) dead.push(`${name} links to ${link}, which has no such anchor`);
  }
}

console.log(`${pages.size} pages, ${checked} links within the site`);
if (dead.length > 0) {
  console.error(dead.join("\n"));
  process.exit(1);
}
