// The shared parts of the journeys: the demo's gateway, and a browser that is signed in to it.
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { launch, noBrowser, watch, type Watched } from "./browser";
import { startGateway, type Gateway } from "./gateway";

export let gateway: Gateway;
export let browser: Browser;
/** The browser context. It is signed in, unless the journeys sign in themselves. */
export let context: BrowserContext;
/** The console's address, with a slash at its end. */
export let base: string;
let agents: Map<string, string>;

/** Runs a file's journeys one after another, on their own gateway. */
export function journeys(name: string, all: () => void, { isSignedIn = true } = {}): void {
  describe(name, { skip: noBrowser, concurrency: 1, timeout: 300_000 }, () => {
    before(async () => {
      gateway = await startGateway();
      base = gateway.consoleUrl.split("#")[0] ?? "";
      browser = await launch();
      const found = await gateway.ask<{ agents: { nodes: { id: string; name: string }[] } }>("{ agents { nodes { id name } } }");
      agents = new Map(found.agents.nodes.map((agent) => [agent.name, agent.id]));
      context = await browser.newContext();
      if (!isSignedIn) return;
      // Further tabs are signed in by this one, so it stays open.
      const first = await context.newPage();
      await first.goto(gateway.consoleUrl);
      await first.getByRole("heading", { level: 1, name: "Home" }).waitFor();
    });
    after(async () => {
      await browser?.close();
      await gateway?.stop();
    });
    all();
  });
}

/** The id of the demo's agent with the name. */
export const agent = (name: string) => agents.get(name) ?? assert.fail(`there is no ${name}`);

/** Connects a tool to an agent that a chat would really call. The demo's own tools answer with samples instead. */
export async function connectRealTool(name: string): Promise<void> {
  const { createTool } = await gateway.ask<{ createTool: { tool: { id: string } } }>(
    'mutation { createTool(input: { name: "Send a postcard", technicalName: "send_postcard", endpoint: { method: POST, url: "https://tools.example.com/postcards" } }) { tool { id } } }',
  );
  await gateway.ask(`mutation { connectTool(input: { agentId: "${agent(name)}", toolId: "${createTool.tool.id}" }) { agent { id } } }`);
}

/** Opens a page in the signed-in context, and closes it after checking that it broke no rule. */
export async function visit(path: string, journey: (page: Page, watched: Watched) => Promise<void>, expected: RegExp[] = []): Promise<void> {
  const watched = await watch(context, new URL(base).origin, expected);
  try {
    await watched.page.goto(base + path);
    await journey(watched.page, watched);
    watched.check();
  } finally {
    await watched.page.close();
  }
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

export async function signOut(page: Page): Promise<void> {
  await page.getByRole("complementary").locator("summary").first().click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("dialog", { name: "Sign out of all tabs?" }).getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("dialog", { name: "Sign in" }).waitFor();
}

export async function newKey(scopes: string[]): Promise<{ id: string; secret: string }> {
  const { createApiKey } = await gateway.ask<{ createApiKey: { secret: string; apiKey: { id: string } } }>(
    "mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { secret apiKey { id } } }",
    { input: { name: `journey ${scopes.join(" ")}`, scopes } },
  );
  return { id: createApiKey.apiKey.id, secret: createApiKey.secret };
}
