// The site over docs/. The sidebar, llms.txt and the Markdown twins are made of the pages that exist.
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type DefaultTheme } from "vitepress";

const docs = fileURLToPath(new URL("..", import.meta.url));
const repository = "https://github.com/agentgraph/agentgraph";

/** Where the site will be, such as https://example.org/docs. The links work under the path of it. */
const url = (process.env.DOCS_URL ?? "").replace(/\/$/, "");
const base = `${url ? new URL(url).pathname.replace(/\/$/, "") : ""}/`;

const description = "A self-hosted GraphQL gateway for conversational AI agents: read them, talk to them, test them.";

/** Folders in the order of the menu. A page that is not listed follows in the order of the alphabet. */
const folders = [
  {
    path: "guides",
    title: "Guides",
    first: [
      "run", "query-agents", "live-chat", "tools", "mocks", "write-a-test", "ci", "failing-tests", "knowledge", "campaigns", "usage",
      "agents-as-code", "assistants", "webhooks", "console", "graphql-clients", "move-from-v1", "production", "upgrade", "backups", "scale-out", "citus",
    ],
  },
  { path: "reference", title: "Reference", first: ["graphql", "rest", "cli", "settings", "limits"] },
  { path: "internals", title: "Internals", first: ["architecture", "adding-a-type", "reading-rows", "performance"] },
  { path: "internals/decisions", title: "Decisions", first: [] },
];

interface Page {
  /** The path below docs/, without .md. */
  path: string;
  title: string;
  /** The first sentence. */
  summary: string;
}

function pagesIn(folder: string, first: string[] = []): Page[] {
  const place = (name: string) => (first.includes(name) ? first.indexOf(name) : first.length);
  return existsSync(join(docs, folder))
    ? readdirSync(join(docs, folder))
        .filter((file) => file.endsWith(".md") && !["README.md", "index.md"].includes(file))
        .map((file) => file.slice(0, -3))
        .sort((a, b) => place(a) - place(b) || a.localeCompare(b))
        .map((name) => readPage(posix.join(folder, name)))
    : [];
}

function readPage(path: string): Page {
  const text = readFileSync(join(docs, `${path}.md`), "utf8").replace(/^---\n.*?\n---\n|^ *```.*?^ *```|<!--.*?-->/gms, "");
  const title = /^# (.+)$/m.exec(text)?.[1] ?? path;
  const paragraph = text.split(/\n\s*\n/).find((block) => /^\s*[\p{L}`[*]/u.test(block)) ?? "";
  const summary = /^.*?[.:](?=\s|$)/s.exec(paragraph.trim())?.[0].replace(/:$/, ".") ?? paragraph;
  return { path, title: plain(title), summary: plain(summary) };
}

/** Text without the marks of Markdown. */
function plain(text: string) {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "").replace(/\s+/g, " ").trim();
}

const ofRoot = pagesIn("");
const sections = folders.map((folder) => ({ ...folder, pages: pagesIn(folder.path, folder.first) })).filter((s) => s.pages.length > 0);
const all = [...ofRoot, ...sections.flatMap((section) => section.pages)];

const link = (page: Page) => ({ text: page.title, link: `/${page.path}` });

const sidebar = [
  ...ofRoot.map(link),
  ...sections.map(({ path, title, pages }) => ({ text: title, items: pages.map(link), collapsed: path.includes("/") })),
];

const menu: DefaultTheme.NavItem[] = [
  ...ofRoot.map((page) => ({ ...link(page), activeMatch: `^/${page.path}` })),
  ...sections
    .filter(({ path }) => !path.includes("/"))
    .map(({ path, title, pages }) => ({ text: title, link: link(pages[0]).link, activeMatch: `^/${path}/` })),
];

/** This site describes the main branch. Released versions are listed with the documents that each was released with. */
function versions(): DefaultTheme.NavItemWithChildren {
  const released = [...readFileSync(join(docs, "../CHANGELOG.md"), "utf8").matchAll(/^## \[?v?(\d+\.\d+\.\d+[^\s\]]*)/gm)].map((found) => `v${found[1]}`);
  return {
    text: "main",
    items: [
      { text: released.length > 0 ? "This site: main, not yet released" : "This site: main; nothing is released yet", link: `${repository}/tree/main/docs` },
      ...released.slice(0, 5).map((version) => ({ text: version, link: `${repository}/tree/${version}/docs` })),
      { text: "Changelog", link: `${repository}/blob/main/CHANGELOG.md` },
    ],
  };
}

/** What a relative link of a page leads to on the site: files that are no pages are in the repository. */
function destination(href: string, page: string) {
  if (/^([a-z]+:|\/|#|$)/i.test(href)) return href;
  const [, path, rest] = /^([^?#]*)(.*)$/s.exec(href)!;
  const file = posix.join("docs", posix.dirname(page), decodeURI(path)).replace(/\/$/, "");
  if (file === "docs/README.md") return `/${rest}`;
  if (/^docs\/.*\.md$/.test(file)) return href;
  const kind = statSync(join(docs, "..", file), { throwIfNoEntry: false })?.isDirectory() ? "tree" : "blob";
  return `${repository}/${kind}/main/${file}${rest}`;
}

/** GitHub's name of a heading, so that an anchor works on both. */
const slugify = (heading: string) =>
  heading.toLowerCase().replace(/[^\p{L}\p{M}\p{N}_\- ]/gu, "").replace(/ /g, "-");

/** The Markdown of each page at its path, and llms.txt that lists them. */
async function writeForModels(outDir: string) {
  const list = ({ path, title, summary }: Page) => `- [${title}](${url || ""}${url ? "/" : base}${path}.md)${summary && `: ${summary}`}\n`;
  const chapter = (title: string, pages: Page[]) => (pages.length > 0 ? `\n## ${title}\n\n${pages.map(list).join("")}` : "");
  const text = `# agentgraph\n\n> ${description}\n${chapter("Start", ofRoot)}${sections.map((s) => chapter(s.title, s.pages)).join("")}`;
  await writeFile(join(outDir, "llms.txt"), text);
  for (const { path } of all) {
    await mkdir(join(outDir, dirname(path)), { recursive: true });
    const source = readFileSync(join(docs, `${path}.md`), "utf8");
    const twin = source.replace(/\]\(([^()\s]+)\)/g, (_, href) => `](${destination(href, `${path}.md`)})`);
    await writeFile(join(outDir, `${path}.md`), twin);
  }
}

export default defineConfig({
  title: "agentgraph",
  description,
  lang: "en-US",
  base,
  cleanUrls: true,
  srcExclude: ["README.md", "node_modules"],
  ignoreDeadLinks: "localhostLinks",
  sitemap: url ? { hostname: `${url}/` } : undefined,
  head: [["link", { rel: "icon", type: "image/svg+xml", href: `${base}favicon.svg` }]],
  markdown: {
    theme: { light: "github-light", dark: "github-dark" },
    anchor: { slugify },
    config(md) {
      md.core.ruler.push("outside", (state) => {
        for (const token of state.tokens.flatMap((token) => token.children ?? [])) {
          if (token.type === "link_open") token.attrSet("href", destination(token.attrGet("href") ?? "", state.env.relativePath));
        }
      });
      const fence = md.renderer.rules.fence!;
      md.renderer.rules.fence = (tokens, index, options, env, self) =>
        tokens[index].info.trim() === "mermaid"
          ? `<Mermaid code="${encodeURIComponent(tokens[index].content)}" />`
          : fence(tokens, index, options, env, self);
    },
  },
  transformPageData(page) {
    // The landing page links to folders: take the first page of each. A feature links to its guide where there is one.
    for (const action of page.frontmatter.hero?.actions ?? []) {
      const section = sections.find(({ path }) => action.link === `/${path}/`);
      if (section) action.link = link(section.pages[0]).link;
    }
    for (const feature of page.frontmatter.features ?? []) {
      if (!all.some((page) => link(page).link === feature.link)) delete feature.link;
    }
  },
  transformHead: ({ page }) =>
    all.some(({ path }) => `${path}.md` === page) ? [["link", { rel: "alternate", type: "text/markdown", href: `${base}${page}` }]] : [],
  buildEnd: ({ outDir }) => writeForModels(outDir),
  themeConfig: {
    logo: { light: "/mark-light.svg", dark: "/mark-dark.svg" },
    nav: [...menu, versions()],
    sidebar,
    outline: [2, 3],
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: repository }],
    docFooter: { prev: "Previous", next: "Next" },
  },
});
