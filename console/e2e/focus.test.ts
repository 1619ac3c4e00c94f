// Where the focus goes, and what screen readers announce, when a page changes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { launch, noBrowser, watch, type Watched } from "./browser";
import { startGateway, type Gateway } from "./gateway";
import { pagesOf } from "./pages";

let gateway: Gateway;
let browser: Browser;
let context: BrowserContext;
let watched: Watched;
let pages: Record<string, string>;
let base: string;

before(async () => {
  if (noBrowser) return;
  gateway = await startGateway();
  browser = await launch();
  context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  base = gateway.consoleUrl.split("#")[0] ?? "";
  watched = await watch(context, new URL(base).origin);
  await watched.page.goto(gateway.consoleUrl);
  await watched.page.getByRole("heading", { level: 1 }).waitFor();
  pages = await pagesOf(gateway);
});

after(async () => {
  await browser?.close();
  await gateway?.stop();
});

/** Waits until the element with the focus has the text. */
const focused = (page: Page, text: string) =>
  page.waitForFunction((text) => (document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent) === text, text).catch(async () => {
    throw new Error(`${await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 300))} has the focus instead of ${text}`);
  });

/** Waits until a live region has the text. */
const told = (page: Page, text: string | RegExp) => page.getByRole("status").filter({ hasText: text }).first().waitFor({ state: "attached" });

test("a new page's title gets the focus, and a tab keeps it", { skip: noBrowser }, async () => {
  const { page } = watched;
  await page.goto(base + "agents");
  await page.getByRole("link", { name: "Clinic reception" }).first().press("Enter");
  await focused(page, "Clinic reception");
  await page.getByRole("navigation", { name: "Agent" }).getByRole("link", { name: "Settings" }).press("Enter");
  await told(page, "Settings · Clinic reception");
  await focused(page, "Settings");
  assert.equal(await page.title(), "Settings · Clinic reception · agentgraph");
  await page.getByRole("link", { name: "Consumption" }).press("Enter");
  await focused(page, "Consumption");
  watched.check();
});

test("Stop gets the focus while tests run, and the result is announced", { skip: noBrowser }, async () => {
  const { page } = watched;
  await page.goto(base + pages.tests);
  const run = page.getByRole("button", { name: "Run all" });
  await run.waitFor();
  await page.evaluate(() => {
    const seen = ((window as unknown as { seen: string[] }).seen = []) as string[];
    document.addEventListener("focusin", ({ target }) => seen.push((target as HTMLElement).textContent ?? ""));
  });
  await run.press("Enter");
  await told(page, /^(Passed|Failed): \d+ of 40 passed/);
  const seen = await page.evaluate(() => (window as unknown as { seen: string[] }).seen);
  assert.ok(seen.includes("Stop"), seen.join(", "));
  await page.waitForFunction(() => document.activeElement !== document.body);
  watched.check();
});

test("tests that run already leave the focus alone, and keys stay where they are typed", { skip: noBrowser }, async () => {
  const { page } = watched;
  const agentId = new URLSearchParams(pages.tests?.split("?")[1]).get("agent");
  const started = await gateway.ask<{ startAgentTestExecution: { execution: { id: string } } }>(
    `mutation ($input: StartAgentTestExecutionInput!) { startAgentTestExecution(input: $input) { execution { id } } }`,
    { input: { agentId, repeats: 20, concurrency: 1 } },
  );
  await page.goto(base + pages.tests);
  await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
  await page.waitForTimeout(300);
  assert.equal(await page.evaluate(() => document.activeElement?.localName), "body");
  await gateway.ask(`mutation ($input: CancelAgentTestExecutionInput!) { cancelAgentTestExecution(input: $input) { execution { id } } }`, {
    input: { executionId: started.startAgentTestExecution.execution.id },
  });

  await page.goto(base + "agents");
  const find = page.getByRole("searchbox");
  await find.waitFor();
  await find.evaluate((field) => {
    const button = document.createElement("button");
    button.textContent = "Before";
    field.before(button);
    button.focus();
    button.disabled = true;
  });
  await page.waitForFunction(() => document.activeElement?.matches("[type=search]"));
  await page.keyboard.type("clinic");
  await page.getByText("Before", { exact: true }).evaluate((button: HTMLButtonElement) => (button.disabled = false));
  await page.keyboard.type(" rec");
  assert.equal(await find.inputValue(), "clinic rec");
  watched.check();
});

test("a deleted row leaves the focus on the next one, after a question", { skip: noBrowser }, async () => {
  const { page } = watched;
  await page.goto(base + pages.connections);
  const tools = page.getByRole("region", { name: "Tools" }).getByRole("button", { name: /^Disconnect/ });
  await tools.first().waitFor();
  const names = await tools.allTextContents();
  await tools.first().press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Cancel" }).press("Enter");
  await focused(page, names[0] ?? "");
  assert.equal(await tools.count(), names.length);
  await page.keyboard.press("Enter");
  await dialog.getByRole("button", { name: "Disconnect tool" }).press("Enter");
  await told(page, `Disconnected ${names[0]?.replace("Disconnect ", "")}.`);
  await focused(page, names[1] ?? "");
  watched.check();
});

test("a button that returns after loading has the focus again", { skip: noBrowser }, async () => {
  const { page } = watched;
  await page.goto(base + pages.consumption);
  await page.getByRole("button", { name: "Weeks" }).press("Enter");
  await page.getByRole("heading", { name: "By week" }).waitFor();
  await focused(page, "Weeks");
  watched.check();
});

test("the next page of contacts is announced, and has a previous one", { skip: noBrowser }, async () => {
  const { page } = watched;
  await page.goto(base + pages.campaign);
  await page.getByRole("button", { name: "Next 50" }).press("Enter");
  await told(page, "The next 50 are shown");
  assert.ok(await page.evaluate(() => document.activeElement?.closest("tbody")));
  await page.getByRole("button", { name: "Previous 50" }).press("Enter");
  await told(page, "The previous 50 are shown");
  await page.getByRole("button", { name: "Next 50" }).waitFor();
  watched.check();
});

test("filters and selections say what they find", { skip: noBrowser }, async () => {
  const { page } = watched;
  await page.goto(base + "agents");
  await page.getByRole("searchbox").fill("no such agent");
  await told(page, "0 agents");
  await page.goto(base + pages.tests);
  await page.waitForLoadState("networkidle");
  await page.getByRole("checkbox").first().press("Space");
  await told(page, "1 test selected");
  watched.check();
});

test("a chat that ends keeps the focus in its field", { skip: noBrowser }, async () => {
  const { page } = watched;
  await page.goto(base + pages.chat);
  const field = page.getByRole("textbox", { name: "Message" });
  await field.press("End");
  await page.getByRole("button", { name: "End chat" }).evaluate((button: HTMLElement) => button.click());
  await page.getByPlaceholder("The conversation has ended.").waitFor();
  await focused(page, "Message");
  watched.check();
});

test("invalid fields have their message as description", { skip: noBrowser }, async () => {
  const { page } = watched;
  await page.goto(base + "agents?new=agent");
  const name = page.getByRole("dialog").getByRole("textbox", { name: "Name" });
  await name.press("Enter");
  const message = page.getByText("Fill in this field.").first();
  await message.waitFor();
  assert.ok((await name.getAttribute("aria-describedby"))?.split(" ").includes((await message.getAttribute("id")) ?? "?"));
  await watched.checkAccessible();
  await name.fill("Somebody");
  assert.equal(await name.getAttribute("aria-invalid"), null);
});

test("the menu of a telephone keeps the focus inside, until Escape", { skip: noBrowser }, async () => {
  const { page } = watched;
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(base + "agents");
  await page.getByRole("link", { name: "Clinic reception" }).first().waitFor();
  const menu = page.getByRole("button", { name: "Menu" });
  await menu.press("Enter");
  for (let i = 0; i < 30; i++) {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement?.closest("main")), null);
  }
  // Escape in a dialog closes the dialog only.
  const dialog = page.getByRole("dialog");
  for (const [list, entry] of [[], ["Help and documentation", "Keyboard shortcuts"]]) {
    if (list) await page.getByLabel(list).press("Enter");
    await page.getByRole("button", { name: entry ?? "Search" }).press("Enter");
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.equal(await menu.getAttribute("aria-expanded"), "true");
  }
  await page.keyboard.press("Escape");
  await focused(page, "Menu");
  assert.ok(await page.locator("main").isVisible());

  // A page that loads while the menu is open stays behind it, and each of its links closes it.
  await page.getByRole("link", { name: "Clinic reception" }).first().click();
  await menu.press("Enter");
  await page.locator("main h1", { hasText: "Clinic reception" }).waitFor({ state: "attached" });
  await page.waitForTimeout(300);
  assert.equal(await page.evaluate(() => document.activeElement?.closest("main")), null);
  await page.goto(base + pages.tests);
  await page.getByRole("heading", { level: 1, name: "Clinic reception" }).waitFor();
  await menu.press("Enter");
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: /^Tests/ }).press("Enter");
  await focused(page, "Tests");
  assert.equal(await menu.getAttribute("aria-expanded"), "false");
  await page.setViewportSize({ width: 1280, height: 800 });
  watched.check();
});

test("Tab leaves the editors of the explorer", { skip: noBrowser }, async () => {
  const { page } = watched;
  await page.goto(base + "explore");
  await page.locator(".graphiql-query-editor .view-line").first().waitFor({ timeout: 90_000 });
  await page.locator(".graphiql-query-editor .view-line").first().click();
  await page.waitForFunction(() => document.activeElement?.closest(".graphiql-query-editor .monaco-editor"));
  await page.keyboard.press("Tab");
  await page.waitForFunction(() => !document.activeElement?.closest(".graphiql-query-editor .monaco-editor"));
  watched.check();
});
