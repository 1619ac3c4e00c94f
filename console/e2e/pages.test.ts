// Every page, in both themes: no policy violation, no request to another origin, no finding of axe-core.
import { after, before, test } from "node:test";
import type { Browser, BrowserContext } from "playwright-core";
import { launch, noBrowser, watch } from "./browser";
import { startGateway, type Gateway } from "./gateway";
import { pagesOf } from "./pages";

let gateway: Gateway;
let browser: Browser;
let context: BrowserContext;
let pages: Record<string, string>;

before(async () => {
  if (noBrowser) return;
  gateway = await startGateway();
  browser = await launch();
  context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const first = await context.newPage();
  await first.goto(gateway.consoleUrl);
  await first.getByRole("heading", { level: 1 }).waitFor();
  pages = await pagesOf(gateway);
});

after(async () => {
  await browser?.close();
  await gateway?.stop();
});

test("the sign-in dialog keeps the rules", { skip: noBrowser }, async () => {
  const stranger = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const base = gateway.consoleUrl.split("#")[0] ?? "";
  const { page, check, checkAccessible } = await watch(stranger, new URL(base).origin);
  for (const path of ["agents", "explore"]) {
    await page.goto(base + path);
    await page.getByRole("dialog", { name: "Sign in" }).waitFor();
    check(0);
    await checkAccessible();
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await checkAccessible();
  await stranger.close();
});

test("every page keeps the rules", { skip: noBrowser }, async (t) => {
  const base = gateway.consoleUrl.split("#")[0] ?? "";
  for (const [name, path] of Object.entries(pages)) {
    await t.test(name, async () => {
      const { page, check, checkAccessible } = await watch(context, new URL(base).origin);
      try {
        await page.goto(base + path);
        await page.getByRole("heading", { level: 1 }).waitFor();
        // The workers of the editor may keep the network busy on a slow machine.
        if (name === "explore") await page.locator(".graphiql-query-editor .view-line").first().waitFor({ timeout: 90_000 });
        else await page.waitForLoadState("networkidle", { timeout: 90_000 });
        // The dialog over the tests asks for the test that it edits.
        check(name === "test-editor" ? 4 : 3);
        // A tab of GraphiQL contains the button that closes it.
        await checkAccessible(name === "explore" ? ["nested-interactive"] : []);
        await page.setViewportSize({ width: 390, height: 844 });
        const overflow = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
        // Editors measure themselves some time after the window has changed.
        const fits = await page.waitForFunction(`(${overflow})() <= 0`, undefined, { timeout: 15_000 }).catch(() => undefined);
        if (!fits) throw new Error(`${await page.evaluate(overflow)} pixels do not fit on a telephone`);
      } finally {
        await page.close();
      }
    });
  }
});
