import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell";

/** The reason why there is no browser to test in. CI must have one. */
export const noBrowser = existsSync(executablePath) || process.env.CI ? false : `there is no ${executablePath}`;

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [...(process.getuid?.() === 0 ? ["--no-sandbox"] : []), "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"],
  });
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A page that collects faults: console errors, exceptions, requests to other origins and policy violations. */
export interface Watched {
  page: Page;
  /** Forgets the API requests so far. */
  reset: () => void;
  /** Fails if the page broke a rule, or made more than `requests` API requests since the last reset. */
  check: (requests?: number) => void;
  /** Fails if axe-core finds anything, in light or in dark, except for the rules that are named. */
  checkAccessible: (except?: string[]) => Promise<void>;
}

/** Opens a page and collects its faults. `expected` are console messages that the test itself provokes. */
export async function watch(context: BrowserContext, origin: string, expected: RegExp[] = []): Promise<Watched> {
  const page = await context.newPage();
  const faults: string[] = [];
  let asked: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" && !expected.some((e) => e.test(message.text()))) faults.push(`console: ${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && url.origin !== origin) faults.push(`asked ${request.url()}`);
    if (url.pathname.endsWith("/graphql") && request.method() === "POST") {
      asked.push(/(?:query|mutation) (\w+)/.exec(request.postData() ?? "")?.[1] ?? "?");
    }
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
  });
  return {
    page,
    reset: () => (asked = []),
    check: (requests = Infinity) => {
      assert.deepEqual(faults, []);
      assert.ok(asked.length <= requests, `asked ${asked.join(", ")}`);
    },
    checkAccessible: async (except = []) => {
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        assert.deepEqual(await findings(page, except), [], `${page.url()}, ${colorScheme}`);
      }
      await page.emulateMedia({ colorScheme: "light", reducedMotion: null });
    },
  };
}

async function findings(page: Page, except: string[]): Promise<string[]> {
  // This goes through the debugger, because the page's policy forbids a script element.
  await page.evaluate(axe);
  return page.evaluate(async (except) => {
    const { axe } = window as unknown as { axe: { run: (o: unknown) => Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }> } };
    const found = await axe.run({ resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"], rules: Object.fromEntries(except.map((rule) => [rule, { enabled: false }])) });
    return found.violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.html.slice(0, 160)} ${n.failureSummary.replace(/\s+/g, " ").slice(0, 200)}`));
  }, except);
}
