// Writes each page in both themes and two widths to the directory OUT, for people to review: with data,
// empty, loading and failed. Without OUT it writes the pictures of the documents.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page, Route } from "playwright-core";
import { launch } from "./browser";
import { startGateway, type Gateway } from "./gateway";
import { pagesOf } from "./pages";

const out = process.env.OUT;
const only = process.env.ONLY?.split(",");

/** The API's response in each state of a page. */
const states: Record<string, (route: Route) => Promise<void>> = {
  empty: async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: emptied(await response.json()) });
  },
  loading: async () => undefined,
  failing: (route) =>
    route.fulfill({
      json: { data: null, errors: [{ message: "The database did not answer in time.", extensions: { code: "UNAVAILABLE", traceId: "4bf92f3577b34da6a3ce929d0e0e4736" } }] },
    }),
};

const gateway = await startGateway();
const browser = await launch();
try {
  if (out) await every(browser, gateway, out);
  else await ofReadme(browser, gateway, fileURLToPath(new URL("../../docs/images/", import.meta.url)));
} finally {
  await browser.close();
  await gateway.stop();
}

async function every(browser: Browser, gateway: Gateway, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const page = await signedIn(browser, gateway);
  for (const [name, path] of Object.entries(await pagesOf(gateway))) {
    if (only && !only.includes(name)) continue;
    await open(page, gateway, path);
    await inAllLooks(page, join(folder, name));
  }
  await inEachState(page, gateway, folder);
  if (only && !only.includes("sign-in")) return;
  const stranger = await (await browser.newContext()).newPage();
  await stranger.goto(addressOf(gateway));
  await stranger.getByRole("dialog", { name: "Sign in" }).waitFor();
  await inAllLooks(stranger, join(folder, "sign-in"));
}

/** An answer with all its lists empty. */
function emptied(value: unknown): unknown {
  if (Array.isArray(value)) return [];
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, name === "totalCount" ? 0 : emptied(each)]));
}

/** Captures each page empty, loading and failed, in two looks. The full pages show the other looks. */
async function inEachState(page: Page, gateway: Gateway, folder: string): Promise<void> {
  const pages = Object.entries(await pagesOf(gateway)).filter(([name]) => !["explore", "keys", "missing"].includes(name));
  for (const [state, answer] of Object.entries(states)) {
    await page.route("**/graphql", answer);
    for (const [name, path] of pages) {
      if (only && !only.includes(`${name}-${state}`)) continue;
      await page.goto(addressOf(gateway) + path);
      // Placeholders show when loading takes a while.
      if (state === "loading") await page.waitForTimeout(500);
      else await page.waitForLoadState("networkidle");
      await look(page, join(folder, `${name}-${state}`), 1280, "light");
      await look(page, join(folder, `${name}-${state}`), 390, "dark");
    }
    await page.unrouteAll({ behavior: "ignoreErrors" });
  }
}

async function inAllLooks(page: Page, path: string): Promise<void> {
  for (const width of [1280, 390] as const) {
    for (const colorScheme of ["light", "dark"] as const) await look(page, path, width, colorScheme);
  }
}

async function look(page: Page, path: string, width: 1280 | 390, colorScheme: "light" | "dark"): Promise<void> {
  await page.setViewportSize({ width, height: width === 390 ? 844 : 800 });
  await page.emulateMedia({ colorScheme });
  // Ends the transitions between the colors of the two themes.
  await page.screenshot({ path: `${path}-${width}-${colorScheme}.png`, fullPage: true, animations: "disabled" });
}

/** The graph of agents with the path of a chat, and a live chat with the source of an answer. */
async function ofReadme(browser: Browser, gateway: Gateway, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const page = await signedIn(browser, gateway);
  await page.setViewportSize({ width: 1280, height: 720 });
  const pages = await pagesOf(gateway);

  await open(page, gateway, pages.chat ?? "");
  await page.getByText("Live", { exact: true }).waitFor();
  await page.getByRole("button", { name: /^Source 1/ }).first().click();
  await page.screenshot({ path: join(folder, "chat.png"), animations: "disabled" });

  await delegate(gateway);
  await open(page, gateway, pages.graph ?? "");
  await page.getByRole("button", { name: /^Clinic reception, / }).click();
  await page.getByRole("button", { name: /step 2 of the running chat/ }).waitFor();
  await page.screenshot({ path: join(folder, "graph.png"), animations: "disabled" });
}

/** Holds a chat whose agent delegates. */
async function delegate(gateway: Gateway): Promise<void> {
  const { agents } = await gateway.ask<{ agents: { nodes: { id: string }[] } }>('{ agents(filter: { nameContains: "Card support" }) { nodes { id } } }');
  const { startSimulationChat } = await gateway.ask<{ startSimulationChat: { simulationChat: { id: string } } }>(
    "mutation($input: StartSimulationChatInput!) { startSimulationChat(input: $input) { simulationChat { id } } }",
    { input: { agentId: agents.nodes[0]?.id, dataBag: { cardLastFour: "4821", cardholderName: "Sam Okoro", serviceTier: "gold" }, toolMocking: { mockAllTools: true, sideEffects: "Deny" } } },
  );
  await gateway.ask("mutation($input: SendSimulationMessageInput!) { sendSimulationMessage(input: $input) { newMessages { sequence } } }", {
    input: { simulationChatId: startSimulationChat.simulationChat.id, text: "Where is my new card? I cannot be at home for the delivery." },
  });
}

async function signedIn(browser: Browser, gateway: Gateway): Promise<Page> {
  const page = await browser.newPage();
  page.on("console", (message) => message.type() === "error" && console.log(message.text()));
  await page.goto(gateway.consoleUrl);
  await page.getByRole("heading", { level: 1 }).waitFor();
  return page;
}

async function open(page: Page, gateway: Gateway, path: string): Promise<void> {
  await page.goto(addressOf(gateway) + path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForLoadState("networkidle");
}

function addressOf(gateway: Gateway): string {
  return gateway.consoleUrl.split("#")[0] ?? "";
}
