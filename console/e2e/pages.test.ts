// Every page, in both themes: no policy violation, no request to another origin, no finding of axe-core.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
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

/** Fails if the page scrolls sideways. Editors measure themselves some time after the window has changed. */
async function fits(page: Page): Promise<void> {
  const overflow = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const isThere = await page.waitForFunction(`(${overflow})() <= 0`, undefined, { timeout: 15_000 }).catch(() => undefined);
  if (!isThere) throw new Error(`${await page.evaluate(overflow)} pixels do not fit into ${page.viewportSize()?.width}`);
}

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
        for (const width of [390, 320]) {
          await page.setViewportSize({ width, height: 844 });
          await fits(page);
        }
      } finally {
        await page.close();
      }
    });
  }
});

test("long names and large text leave everything in reach", { skip: noBrowser }, async () => {
  const base = gateway.consoleUrl.split("#")[0] ?? "";
  const agentId = new URLSearchParams(pages.tests?.split("?")[1]).get("agent");
  const name = "x".repeat(230);
  await gateway.ask(`mutation($input: CreateSimulationTestInput!) { createSimulationTest(input: $input) { agentTest { id } } }`, {
    input: { agentId, name, scenario: "The contact says hello.", criteria: ["The agent says hello."] },
  });
  const { page, check } = await watch(context, new URL(base).origin);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(base + pages.tests);
  await page.getByRole("button", { name }).waitFor();
  const table = page.getByRole("table").filter({ has: page.getByRole("button", { name }) });
  const hidden = () => table.evaluate((each) => each.scrollWidth - (each.parentElement?.clientWidth ?? 0));
  assert.equal(await hidden(), 0);
  await page.setViewportSize({ width: 390, height: 844 });
  assert.equal(await hidden(), 0);

  // The name of a page is whole at 320 pixels, and where the text is twice as large.
  for (const path of [pages.dataset, pages.campaign, pages.agent, pages.retrieval, pages.document]) {
    await page.setViewportSize({ width: 320, height: 568 });
    await page.goto(base + path);
    const title = page.getByRole("heading", { level: 1 });
    await title.waitFor();
    for (const size of ["", "200%"]) {
      await page.evaluate((size) => (document.documentElement.style.fontSize = size), size);
      assert.deepEqual(await title.evaluate((h1) => [h1.scrollWidth > h1.clientWidth, h1.scrollHeight > h1.clientHeight + 1]), [false, false], `${path} ${size}`);
    }
  }

  // At a zoom of 400 %, nothing covers the control that has the focus.
  await page.setViewportSize({ width: 320, height: 256 });
  await page.goto(base + pages.tests);
  await page.getByRole("button", { name }).waitFor();
  const covered = () => {
    const { top, left, width, height } = document.activeElement!.getBoundingClientRect();
    const there = document.elementFromPoint(left + width / 2, top + height / 2);
    return there?.contains(document.activeElement) || document.activeElement!.contains(there) ? "" : document.activeElement!.outerHTML;
  };
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(covered), "");
  }
  check();
  await page.close();
});

test("choices and drawings are visible in forced colors", { skip: noBrowser }, async () => {
  const base = gateway.consoleUrl.split("#")[0] ?? "";
  const { page, check } = await watch(context, new URL(base).origin);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ forcedColors: "active" });
  const background = (selector: string, pseudo?: string) =>
    page.locator(selector).first().evaluate((each, pseudo) => getComputedStyle(each, pseudo).backgroundColor, pseudo);
  const outline = (selector: string) => page.locator(selector).first().evaluate((each) => getComputedStyle(each).outlineStyle);

  await page.goto(base + pages.tests);
  await page.locator("main i[data-status=Passed]").first().waitFor();
  const canvas = await background("body");
  assert.notEqual(await background("main i[data-status=Passed]"), canvas);
  assert.notEqual(await background("main [aria-pressed=true]"), await background("main [aria-pressed=false]"));
  assert.equal(await outline("aside a[aria-current]"), "solid");
  assert.equal(await outline("aside a:not([aria-current])"), "none");

  await page.goto(base + pages.run);
  await page.locator("main nav[aria-label=Attempts] a[aria-current]").waitFor();
  assert.equal(await outline("nav[aria-label=Attempts] a[aria-current]"), "solid");
  const line = (selector: string) => page.locator(selector).first().evaluate((each) => getComputedStyle(each).borderBottomColor);
  assert.notEqual(await line("main nav a[aria-current]"), await line("main nav a[href$=blame]:not([aria-current])"));
  const mark = page.locator("main mark").first();
  await mark.waitFor();
  assert.notEqual(...(await mark.evaluate((each) => [getComputedStyle(each).color, getComputedStyle(each).backgroundColor] as const)));

  await page.goto(base + pages.campaign);
  await page.locator("main i[data-part=processed]").waitFor();
  assert.notEqual(await background("main i[data-part=processed]"), canvas);
  await page.goto(base + pages.consumption);
  await page.locator("main li[data-channel=Phone]").first().waitFor();
  assert.notEqual(await background("main li[data-channel=Phone]", "::before"), canvas);
  check();
  await page.close();
});
