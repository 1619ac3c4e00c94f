// What people do in the console, in a real browser, on the demo's data.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { launch, noBrowser, watch, type Watched } from "./browser";
import { startGateway, type Gateway } from "./gateway";
import { startProxy } from "./proxy";

let gateway: Gateway;
let browser: Browser;
let context: BrowserContext;
let base: string;
let agents: Map<string, string>;

before(async () => {
  if (noBrowser) return;
  gateway = await startGateway();
  base = gateway.consoleUrl.split("#")[0] ?? "";
  browser = await launch();
  const found = await gateway.ask<{ agents: { nodes: { id: string; name: string }[] } }>("{ agents { nodes { id name } } }");
  agents = new Map(found.agents.nodes.map((agent) => [agent.name, agent.id]));
  context = await browser.newContext();
});

after(async () => {
  await browser?.close();
  await gateway?.stop();
});

const agent = (name: string) => agents.get(name) ?? assert.fail(`there is no ${name}`);

/** Opens a page in the signed-in context, and closes it after checking that it broke no rule. */
async function visit(path: string, journey: (page: Page, watched: Watched) => Promise<void>, expected: RegExp[] = []): Promise<void> {
  const watched = await watch(context, new URL(base).origin, expected);
  try {
    await watched.page.goto(base + path);
    await journey(watched.page, watched);
    watched.check();
  } finally {
    await watched.page.close();
  }
}

async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole("banner").locator("summary").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("dialog", { name: "Sign in" }).waitFor();
}

async function newKey(scopes: string[]): Promise<{ id: string; secret: string }> {
  const { createApiKey } = await gateway.ask<{ createApiKey: { secret: string; apiKey: { id: string } } }>(
    "mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { secret apiKey { id } } }",
    { input: { name: `journey ${scopes.join(" ")}`, scopes } },
  );
  return { id: createApiKey.apiKey.id, secret: createApiKey.secret };
}

describe("journeys", { skip: noBrowser, concurrency: 1, timeout: 300_000 }, () => {
  test("a code signs in once, a second tab by the first, others by a key", async () => {
    const first = await watch(context, new URL(base).origin);
    await first.page.goto(gateway.consoleUrl);
    await first.page.getByRole("heading", { name: "Agents" }).waitFor();
    assert.equal(new URL(first.page.url()).hash, "");

    const second = await watch(context, new URL(base).origin);
    await second.page.goto(`${base}tests`);
    await second.page.getByRole("link", { name: "Clinic reception" }).waitFor();
    second.check(3);
    await second.page.close();

    const stranger = await browser.newContext();
    const other = await watch(stranger, new URL(base).origin, [/410/, /401/]);
    await other.page.goto(gateway.consoleUrl);
    await other.page.getByText("This link has been used already").waitFor();
    await other.page.getByLabel("API key").fill("ag_wrong");
    await other.page.getByRole("button", { name: "Sign in" }).click();
    await other.page.getByRole("alert").waitFor();
    const { secret } = await newKey(["read"]);
    await signIn(other.page, secret);
    assert.ok(await other.page.getByRole("button", { name: /New agent/ }).isDisabled());
    await other.page.getByRole("link", { name: "Clinic reception" }).first().click();
    assert.ok(!(await other.page.getByLabel("Prompt", { exact: true }).isEditable()));
    await signOut(other.page);

    await signIn(other.page, (await newKey(["browse"])).secret);
    const asked = other.page.waitForRequest((request) => request.headers().authorization !== undefined);
    await other.page.goto(`${base}agents/${agent("Clinic reception")}`);
    const { authorization = "" } = (await asked).headers();
    await other.page.getByText("your key lacks the scope prompts").waitFor();
    await other.page.goto(`${base}consumption`);
    await other.page.getByRole("alert").filter({ hasText: "FORBIDDEN" }).waitFor();
    await signOut(other.page);
    // The gateway remembers a credential for a moment.
    const query = JSON.stringify({ query: "{ viewer { scopes } }" });
    while ((await fetch(gateway.graphqlUrl, { method: "POST", headers: { "Content-Type": "application/json", Authorization: authorization }, body: query })).ok) {
      await other.page.waitForTimeout(100);
    }
    other.check();
    await stranger.close();
    first.check();
  });

  test("agents are filtered in the address, and the graph is used by keyboard", () =>
    visit("agents", async (page) => {
      await page.getByRole("combobox", { name: "Channel" }).selectOption("Phone");
      await page.getByText("3 in all").waitFor();
      assert.match(page.url(), /channel=Phone/);
      await page.goBack();
      await page.getByText("8 in all").waitFor();
      await page.getByRole("button", { name: "Graph" }).click();
      await page.getByRole("button", { name: /^Card support, Phone/ }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Card support" }).waitFor();
      await page.getByRole("link", { name: "Open" }).click();
      await page.getByRole("heading", { level: 1, name: "Card support" }).waitFor();
    }));

  test("keys lead from page to page, but not out of a field", () =>
    visit("agents", async (page, watched) => {
      await page.getByRole("link", { name: "Clinic reception" }).first().click();
      await page.getByRole("heading", { level: 1, name: "Clinic reception" }).waitFor();
      await page.keyboard.press("g");
      await page.keyboard.press("t");
      await page.waitForURL(`${base}tests`);
      await page.getByRole("link", { name: "Card support" }).waitFor();
      await page.keyboard.press("Control+k");
      const palette = page.getByRole("dialog", { name: "Go to" });
      await palette.getByRole("group", { name: "Visited last" }).getByRole("option", { name: "Clinic reception" }).waitFor();
      await palette.getByRole("option", { name: "Card support" }).waitFor();
      await watched.checkAccessible();
      await page.keyboard.type("card sup");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Card support" }).waitFor();

      await page.getByRole("heading", { level: 1 }).click();
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keys" }).waitFor();
      await watched.checkAccessible();
      await page.getByRole("checkbox", { name: /Single letters are commands/ }).uncheck();
      await page.keyboard.press("Escape");
      await page.keyboard.press("?");
      assert.equal(await page.getByRole("dialog").count(), 0, "single letters can be switched off");
      await page.evaluate(() => localStorage.removeItem("agentgraph:keys"));

      await page.goto(`${base}agents`);
      await page.getByRole("link", { name: "Card support" }).first().waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("g t?");
      assert.equal(await page.getByRole("searchbox").inputValue(), "g t?");
      assert.equal(await page.getByRole("dialog").count(), 0);
    }));

  test("a prompt is written, compared, restored, and not lost to somebody else's", () =>
    visit(`agents/${agent("Flight rebooking")}`, async (page) => {
      const prompt = page.getByRole("textbox", { name: "Prompt" });
      const original = await prompt.inputValue();
      await prompt.fill(`${original}\n\nAsk for {seatWish} too.`);
      await page.getByText("{seatWish}", { exact: true }).last().waitFor();
      await page.getByRole("button", { name: "Add field" }).click();
      await page.getByRole("button", { name: "Add field" }).waitFor({ state: "detached" });
      await page.reload();
      assert.match(await prompt.inputValue(), /seatWish/, "what is not saved is kept");
      await page.keyboard.press("Control+s");
      await page.getByRole("heading", { name: "Prompt v2" }).waitFor();

      await page.getByRole("link", { name: "Versions 2" }).click();
      await page.locator("ins", { hasText: "seatWish" }).waitFor();
      await page.getByRole("button", { name: "Restore v1 as v3" }).click();
      await page.getByRole("link", { name: "Versions 3" }).waitFor();
      await page.getByRole("link", { name: "Prompt", exact: true }).click();
      assert.equal(await prompt.inputValue(), original);

      await prompt.fill("Mine.");
      await gateway.ask("mutation($input: UpdateAgentPromptInput!) { updateAgentPrompt(input: $input) { agent { id } } }", {
        input: { agentId: agent("Flight rebooking"), prompt: "Theirs." },
      });
      await page.getByRole("button", { name: /^Save as/ }).click();
      await page.getByText("Somebody saved v4").waitFor();
      assert.equal(await prompt.inputValue(), "Mine.");
      await page.getByRole("button", { name: "Save mine as v5" }).click();
      await page.getByRole("heading", { name: "Prompt v5" }).waitFor();
      assert.equal(await prompt.inputValue(), "Mine.");
    }));

  test("a chat is held, its source and calls are opened, and a test is made of it", () =>
    visit(`chats/new?agent=${agent("Product help")}`, async (page, watched) => {
      await page.getByLabel("productName").fill("Brook kettle");
      await page.getByText("Nothing outside hears of this chat.").waitFor();
      await page.getByRole("button", { name: "Start chat" }).click();
      await page.getByRole("heading", { name: "Chat with Product help" }).waitFor();
      await page.getByText("● live").waitFor();
      watched.reset();
      await page.getByRole("textbox", { name: "Message" }).fill("Can I use vinegar to descale the kettle?");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: /^Source 1/ }).click();
      await page.getByRole("link", { name: "support_questions.csv" }).waitFor();
      await page.locator("summary", { hasText: "knowledge_base" }).click();
      assert.equal(await page.getByText("Can I use vinegar to descale the kettle?", { exact: true }).count(), 1, "said once");
      watched.check(2);
      await page.getByRole("button", { name: "Make a test of this" }).click();
      await page.getByLabel("What the contact does then").fill('says: "Thank you, goodbye"');
      await page.getByRole("button", { name: "Make the test" }).click();
      await page.getByText("The test is made").waitFor();
      await page.getByRole("link", { name: "To the tests" }).click();
      await page.getByRole("button", { name: "Can I use vinegar to descale the kettle?" }).waitFor();
    }));

  test("a prompt is tried without saving it", () =>
    visit(`agents/${agent("Product help")}`, async (page, { checkAccessible }) => {
      await page.getByRole("textbox", { name: "Prompt" }).fill("You only ever talk of kettles.");
      await page.getByRole("link", { name: "Try without saving" }).click();
      await page.getByText("It tries the prompt that you have not saved.").waitFor();
      await page.getByLabel("productName").fill("Brook kettle");
      // What is not mocked or denied is said before the chat begins.
      await page.getByRole("checkbox", { name: "All tools" }).uncheck();
      await page.getByRole("checkbox", { name: /^Deny/ }).uncheck();
      await page.getByText("This happens for real:").waitFor();
      await checkAccessible();
      await page.getByRole("checkbox", { name: /^Deny/ }).check();
      await page.getByText("Nothing outside hears of this chat.").waitFor();
      await page.getByRole("button", { name: "Start chat" }).click();
      await page.getByRole("heading", { name: "Chat with Product help" }).waitFor();
      await page.getByText("Draft").waitFor();
      await checkAccessible();
      await page.getByRole("link", { name: "Chats", exact: true }).first().click();
      await page.getByRole("row", { name: /Product help.*Draft/ }).waitFor();
      await page.goto(`${base}agents/${agent("Product help")}`);
      await page.getByRole("button", { name: "Discard" }).click();
    }));

  test("all tests run five times, live, and what did not pass is run again", () =>
    visit(`tests?agent=${agent("Clinic reception")}`, async (page) => {
      await page.getByRole("button", { name: "Run all" }).click();
      await page.getByText("40", { exact: false }).first().waitFor();
      await page.getByRole("button", { name: "Retry not passed" }).waitFor({ timeout: 60_000 });
      assert.equal(await page.locator("td a[data-cell]").count(), 40);
      const before = page.url();
      await page.getByRole("button", { name: "Retry not passed" }).click();
      await page.waitForURL((url) => url.href !== before);
      await page.getByRole("row", { name: /an earlier one/ }).waitFor();
      await page.locator("td a[data-cell]").first().focus();
      await page.keyboard.press("ArrowRight");
      assert.ok(await page.evaluate(() => document.activeElement?.hasAttribute("data-cell")));
    }));

  test("a red test leads to the words that changed in two clicks", () =>
    visit("agents", async (page) => {
      await page.getByRole("row", { name: /^Clinic reception/ }).getByRole("link", { name: /Failed/ }).click();
      await page.getByRole("link", { name: "failing since v2: what changed" }).first().click();
      await page.locator("del", { hasText: "Cars park free of charge behind the building" }).waitFor();
    }));

  test("a run shows the judge's quotes where they stand", async () => {
    const { agentTestRuns } = await gateway.ask<{
      agentTestRuns: { nodes: { id: string; criteriaResults: { evidence: { quote: string; messageIndex: number }[] }[]; messages: { text: string }[] }[] };
    }>("{ agentTestRuns(status: Passed, first: 50) { nodes { id messages { text } criteriaResults { evidence { quote messageIndex } } } } }");
    const run = agentTestRuns.nodes.find((r) => r.criteriaResults.some((c) => c.evidence.some((e) => r.messages[e.messageIndex]?.text.includes(e.quote))));
    const evidence = run?.criteriaResults.flatMap((c) => c.evidence).find((e) => run.messages[e.messageIndex]?.text.includes(e.quote));
    assert.ok(run && evidence);
    await visit(`runs/${run.id}`, async (page) => {
      const marked = page.locator(`#message-${evidence.messageIndex} mark`).first();
      assert.ok((await marked.innerText()).startsWith(evidence.quote));
    });
  });

  test("j and k go through the failed runs", async () => {
    const { agentTestRuns } = await gateway.ask<{ agentTestRuns: { nodes: { executionId: string }[] } }>(
      "{ agentTestRuns(status: Failed, first: 1) { nodes { executionId } } }",
    );
    const failed = await gateway.ask<{ agentTestExecution: { runs: { nodes: { id: string }[] } } }>(
      `{ agentTestExecution(id: "${agentTestRuns.nodes[0]?.executionId}") { runs(status: Failed) { nodes { id } } } }`,
    );
    const [first, second] = failed.agentTestExecution.runs.nodes.map((run) => run.id);
    await visit(`runs/${first}`, async (page) => {
      await page.getByRole("navigation", { name: "Attempts" }).getByRole("link").first().waitFor();
      await page.keyboard.press("j");
      await page.waitForURL(`**/runs/${second}`);
      await page.getByRole("navigation", { name: "Attempts" }).getByRole("link").first().waitFor();
      await page.keyboard.press("k");
      await page.waitForURL(`**/runs/${first}`);
    });
  });

  test("two executions are compared, what newly fails first", async () => {
    const { agentTestExecutions } = await gateway.ask<{ agentTestExecutions: { nodes: { id: string; createdAt: string }[] } }>(
      `{ agentTestExecutions(agentId: "${agent("Clinic reception")}") { nodes { id createdAt } } }`,
    );
    const [head, old] = agentTestExecutions.nodes.slice(-2).map((execution) => execution.id);
    await visit(`compare?base=${old}&head=${head}`, async (page) => {
      const rows = page.getByRole("row");
      assert.match(await rows.nth(1).innerText(), /newly failing/);
      await page.getByRole("link", { name: /what changed/ }).waitFor();
      await page.getByRole("link", { name: /Swap/ }).click();
      await page.getByText("newly passing", { exact: true }).first().waitFor();
    });
  });

  test("two attempts of a test stand side by side, up to where they part", () =>
    visit(`tests?agent=${agent("Clinic reception")}`, async (page, watched) => {
      const { agentTestExecutions } = await gateway.ask<{ agentTestExecutions: { nodes: { id: string }[] } }>(
        `{ agentTestExecutions(agentId: "${agent("Clinic reception")}") { nodes { id } } }`,
      );
      const [head, old] = agentTestExecutions.nodes.slice(-2).map((execution) => execution.id);
      watched.reset();
      await page.goto(`${base}compare?base=${old}&head=${head}`);
      await page.getByRole("row", { name: /Says where to park/ }).getByRole("link", { name: "Side by side" }).click();
      await page.getByText("The same up to message 2, where they part.").waitFor();
      await page.locator("#left-2 mark", { hasText: "behind the building" }).waitFor();
      await page.locator("#right-2").waitFor();
      await page.getByRole("row", { name: /says "behind the building".*Passed.*Failed/ }).waitFor();
      watched.check(3);
      await watched.checkAccessible();
      await page.getByRole("link", { name: "Attempt 1" }).last().click();
      await page.getByRole("combobox", { name: "Side by side with" }).selectOption({ index: 1 });
      await page.getByText("Both say the same.").waitFor();
    }));

  test("settings are not lost to somebody else's", () =>
    visit(`agents/${agent("Card support")}/settings`, async (page) => {
      await page.getByLabel("Tags, separated by commas").fill("mine");
      const theirs = "mutation($input: UpdateAgentInput!) { updateAgent(input: $input) { agent { id } } }";
      await gateway.ask(theirs, { input: { agentId: agent("Card support"), tags: ["theirs"] } });
      await page.getByRole("button", { name: "Save settings" }).click();
      await page.getByText("Somebody changed this agent").waitFor();
      assert.equal(await page.getByLabel("Tags, separated by commas").inputValue(), "mine");
      await page.getByRole("link", { name: "#theirs" }).waitFor();
      await page.getByRole("button", { name: "Save mine over theirs" }).click();
      await page.getByText("Saved.").waitFor();
      await page.getByRole("link", { name: "#mine" }).waitFor();

      await gateway.ask(theirs, { input: { agentId: agent("Card support"), tags: ["theirs"] } });
      await page.getByLabel("Language").fill("nonsense");
      await page.getByRole("button", { name: "Save settings" }).click();
      await page.getByRole("alert").waitFor();
      await page.getByLabel("Language").fill("en");
      await page.getByRole("button", { name: "Save settings" }).click();
      await page.getByText("Somebody changed this agent").waitFor();
      await page.getByRole("button", { name: "Take theirs" }).click();
      assert.equal(await page.getByLabel("Tags, separated by commas").inputValue(), "theirs");
    }));

  test("what a person needs is made where it is missing", async () => {
    await visit("knowledge", async (page, watched) => {
      await page.getByRole("button", { name: "New dataset" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name", { exact: true }).fill("x".repeat(256));
      await dialog.getByRole("button", { name: "Create dataset" }).click();
      await dialog.getByLabel("Name", { exact: true }).and(page.locator("[aria-invalid=true]")).waitFor();
      await dialog.getByText("must have 1 to 255 characters").waitFor();
      await watched.checkAccessible();
      await dialog.getByLabel("Name", { exact: true }).fill("Opening hours");
      await dialog.getByRole("button", { name: "Create dataset" }).click();
      await page.getByRole("heading", { level: 1, name: "Opening hours" }).waitFor();
      await page.getByRole("link", { name: "Knowledge" }).first().click();
      await page.getByRole("button", { name: "New knowledge base chat" }).click();
      await dialog.getByLabel("Name", { exact: true }).fill("Hours of the house");
      await dialog.getByRole("checkbox", { name: /Opening hours/ }).check();
      await dialog.getByRole("button", { name: "Create knowledge base chat" }).click();
      await page.getByRole("heading", { level: 1, name: "Hours of the house" }).waitFor();
      await page.getByRole("link", { name: /Opening hours/ }).waitFor();
    });
    await visit(`tests?agent=${agent("Clinic reception")}`, async (page) => {
      await page.getByRole("button", { name: "New folder" }).click();
      await page.getByLabel("Name").fill("By night");
      await page.getByRole("button", { name: "Create folder" }).click();
      await page.getByRole("button", { name: "Edit the folder By night" }).click();
      page.once("dialog", (dialog) => void dialog.accept());
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("button", { name: "Edit the folder By night" }).waitFor({ state: "detached" });
    });
    await visit(`agents/${agent("Clinic reception")}/connections`, async (page) => {
      await page.getByRole("button", { name: "New tool" }).click();
      await page.getByLabel("Name", { exact: true }).fill("Find the way");
      assert.equal(await page.getByLabel("Name for the model").inputValue(), "find_the_way");
      await page.getByLabel("What it does, for the model").fill("Says how to get here.");
      await page.getByRole("button", { name: "Create and connect" }).click();
      await page.getByRole("button", { name: "Disconnect Find the way" }).waitFor();
      await page.getByLabel("Another agent").selectOption({ label: "Product help" });
      await page.getByRole("button", { name: "Connect", exact: true }).nth(1).click();
      await page.getByLabel("When to delegate, for the model").fill("Ask it about kettles.");
      await page.getByRole("dialog").getByRole("button", { name: "Connect" }).click();
      await page.getByRole("button", { name: "Remove Product help" }).click();
      await page.getByRole("button", { name: "Remove Product help" }).waitFor({ state: "detached" });
    });
  });

  test("a campaign is made, and its contacts come from a file, but for the lines that are wrong", () =>
    visit("campaigns", async (page, watched) => {
      await page.getByRole("button", { name: "New campaign" }).click();
      await page.getByLabel("Name").fill("Spring");
      await page.getByLabel("Agent", { exact: true }).selectOption({ label: "Fitness club leads (WhatsApp)" });
      await page.getByRole("button", { name: "Create campaign" }).click();
      await page.getByRole("heading", { level: 1, name: "Spring" }).waitFor();
      await page.getByRole("button", { name: "Add contacts" }).click();
      const dialog = page.getByRole("dialog");
      const columns = (await dialog.locator("code").allInnerTexts()).map((text) => text.replace("*", ""));
      const line = (number: string) => [number, ...columns.slice(1).map((column) => `"a, ${column}"`)].join(",");
      const lines = [columns.join(","), ...Array.from({ length: 1_001 }, (_, i) => line(`+44207946${String(i).padStart(4, "0")}`)), line("12"), ","];
      await dialog.getByLabel(/A CSV file/).setInputFiles({ name: "contacts.csv", mimeType: "text/csv", buffer: Buffer.from(lines.join("\n")) });
      await dialog.getByRole("region", { name: "The first contacts" }).getByText("a, ").first().waitFor();
      await dialog.getByRole("button", { name: "Add 1,002 contacts" }).click();
      await dialog.getByText("1,000 contacts added.").waitFor();
      await dialog.getByText(/line 1003: phoneNumber must be a valid phone number/).waitFor();
      await watched.checkAccessible();
      await dialog.getByRole("button", { name: "Add the other 1 contact" }).click();
      await dialog.getByText("1,001 contacts added.").waitFor();
      await dialog.getByRole("button", { name: "Done" }).click();
      await page.getByText("1,001 contacts", { exact: true }).waitFor();
    }));

  test("files are uploaded, one is refused, and a question with a typing error finds them", async () => {
    const { datasets } = await gateway.ask<{ datasets: { nodes: { id: string; name: string }[] } }>("{ datasets { nodes { id name } } }");
    const manuals = datasets.nodes.find((set) => set.name.includes("manuals"));
    await visit(`knowledge/datasets/${manuals?.id}`, async (page) => {
      await page.getByLabel(/Drop files here/).setInputFiles([
        { name: "toaster.md", mimeType: "text/markdown", buffer: Buffer.from("# Toaster\n\nThe crumb tray of the toaster slides out at the back.") },
        { name: "iron.txt", mimeType: "text/plain", buffer: Buffer.from("The steam iron takes distilled water only.") },
        { name: "empty.txt", mimeType: "text/plain", buffer: Buffer.alloc(0) },
      ]);
      await page.getByRole("row", { name: /toaster\.md.*Ready/ }).waitFor({ timeout: 20_000 });
      await page.getByRole("row", { name: /iron\.txt.*Ready/ }).waitFor({ timeout: 20_000 });
    });
    const { knowledgeBaseChats } = await gateway.ask<{ knowledgeBaseChats: { nodes: { id: string; name: string }[] } }>("{ knowledgeBaseChats { nodes { id name } } }");
    await visit(`knowledge/chats/${knowledgeBaseChats.nodes.find((chat) => chat.name.includes("manuals"))?.id}`, async (page) => {
      await page.getByLabel("What would a contact ask?").fill("Where is the crumb tray of the toster?");
      await page.getByRole("button", { name: "Ask" }).click();
      await page.getByRole("link", { name: "toaster.md" }).first().waitFor();
      await page.getByText(/crumb \d\.\d\d/).first().waitFor();
      await page.getByLabel("Score from").fill("1");
      await page.getByRole("button", { name: "Ask" }).click();
      await page.getByText("Tried, not saved: score from 1").waitFor();
      await page.getByRole("list", { name: "What is below the threshold" }).getByRole("link", { name: "toaster.md" }).waitFor();
    });
  });

  test("a campaign is watched while its contacts are called", async () => {
    const { campaigns } = await gateway.ask<{ campaigns: { nodes: { id: string; fields: { name: string; isMandatory: boolean }[] }[] } }>(
      "{ campaigns(filter: { statuses: [Running] }) { nodes { id fields { name isMandatory } } } }",
    );
    const [campaign] = campaigns.nodes;
    const campaignId = campaign?.id;
    const dataBag = Object.fromEntries(campaign?.fields.filter((field) => field.isMandatory).map((field) => [field.name, "2026-12-01"]) ?? []);
    const added = await gateway.ask<{ addCampaignItems: { items: { id: string }[] } }>(
      "mutation($input: AddCampaignItemsInput!) { addCampaignItems(input: $input) { items { id } } }",
      { input: { campaignId, items: [{ phoneNumber: "+442079460123", dataBag }] } },
    );
    await visit(`campaigns/${campaignId}?status=Pending`, async (page) => {
      await page.getByText("● live").waitFor();
      const itemId = added.addCampaignItems.items[0]?.id;
      const move = (to: string) =>
        gateway.ask("mutation($input: AdvanceCampaignItemInput!) { advanceCampaignItem(input: $input) { item { id } } }", { input: { campaignId, itemId, to } });
      await page.goto(`${base}campaigns/${campaignId}?item=${itemId}`);
      await page.getByRole("dialog").getByText("Pending").waitFor();
      await page.getByText("● live").waitFor();
      await move("Calling");
      await page.getByRole("dialog").getByText("Calling").waitFor();
    });
  });

  test("the parts of the consumption are the whole, and the ledger can be saved", () =>
    visit("consumption", async (page) => {
      await page.getByText("= channels = months = agents ✓").waitFor();
      await page.getByRole("button", { name: "This month" }).click();
      await page.getByText("= channels = days = agents ✓").waitFor();
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: "Ledger as CSV" }).click();
      assert.match((await download).suggestedFilename(), /^consumption-.*\.csv$/);
    }));

  test("a key is made and revoked, and its session ends over what is being written", async () => {
    await visit("keys", async (page) => {
      await page.getByLabel("API key").fill(gateway.apiKey);
      await page.getByRole("button", { name: "Show keys" }).click();
      await page.getByRole("button", { name: "New key" }).click();
      await page.getByLabel("Name").fill("From the console");
      await page.getByRole("checkbox", { name: /^chat / }).check();
      assert.ok(!(await page.getByRole("checkbox", { name: /^read / }).isChecked()), "chat stands alone");
      await page.getByRole("checkbox", { name: /^contacts / }).check();
      assert.ok(!(await page.getByRole("checkbox", { name: /^chat / }).isChecked()));
      await page.getByLabel("Confirm with your API key").fill(gateway.apiKey);
      await page.getByRole("button", { name: "Make the key" }).click();
      assert.match(await page.locator("[data-secret]").innerText(), /^ag_/);
      await page.getByRole("button", { name: "I have kept it" }).click();
      page.once("dialog", (dialog) => void dialog.accept());
      await page.getByRole("button", { name: "Revoke From the console" }).click();
      await page.getByRole("row", { name: /From the console.*contacts.*revoked/ }).waitFor();
    });

    const own = await browser.newContext();
    const { page, check } = await watch(own, new URL(base).origin, [/401/]);
    const key = await newKey(["read", "write"]);
    await page.goto(`${base}agents/${agent("Card support")}`);
    await signIn(page, key.secret);
    await page.getByRole("textbox", { name: "Prompt" }).fill("What I was writing.");
    await gateway.ask("mutation($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { apiKey { id } } }", { input: { apiKeyId: key.id } });
    // The gateway remembers a credential for a moment, so the test tries until it is refused.
    await assert.doesNotReject(async () => {
      while (!(await page.getByText("Your session has ended").isVisible())) {
        await page.getByRole("button", { name: /^Save as/ }).click({ timeout: 1_000 }).catch(() => undefined);
        await page.getByRole("textbox", { name: "Prompt" }).fill("What I was writing.", { timeout: 1_000 }).catch(() => undefined);
      }
    });
    await signIn(page, (await newKey(["read", "write"])).secret);
    assert.equal(await page.getByRole("textbox", { name: "Prompt" }).inputValue(), "What I was writing.");
    check();
    await own.close();
  });

  test("the explorer runs an example and a subscription, with the console's session", () =>
    visit("agents", async (page, watched) => {
      await page.getByRole("link", { name: "API" }).click();
      await page.getByRole("heading", { name: "API explorer" }).waitFor();
      await page.getByRole("button", { name: "Who delegates to whom" }).click();
      await page.keyboard.press("Control+Enter");
      const answer = page.locator(".graphiql-response");
      await answer.getByText('"Clinic reception"').or(answer.getByText('"totalCount"')).first().waitFor();
      await page.getByText(/^200 in \d+ ms/).waitFor();
      await page.getByRole("button", { name: "Follow a campaign's contacts" }).click();
      await page.keyboard.press("Control+Enter");
      await answer.getByText('"campaignItemUpdated"').waitFor();
      await page.getByRole("button", { name: "Stop query" }).click();
      // The descriptions of the schema become HTML, which the policy allows of one function alone.
      await page.getByRole("button", { name: "Show Documentation Explorer" }).click();
      await page.getByRole("link", { name: "Query", exact: true }).first().click();
      await page.locator(".graphiql-markdown-description").first().waitFor();
      assert.doesNotMatch(await page.evaluate(() => JSON.stringify(localStorage)), /Bearer|eyJ/);
      watched.check();
    }));

  test("behind a proxy that takes a prefix off", async () => {
    const { url, server } = await startProxy("/tools/ag", Number(new URL(base).port));
    const own = await browser.newContext();
    try {
      const { page, check } = await watch(own, new URL(url).origin, [/401/]);
      await page.goto(`${url}/console/chats/new?agent=${agent("Product help")}`);
      await signIn(page, gateway.apiKey);
      await page.getByLabel("productName").fill("Brook kettle");
      await page.getByRole("button", { name: "Start chat" }).click();
      await page.getByText("● live").waitFor();
      assert.match(page.url(), /\/tools\/ag\/console\/chats\/simchat_/);
      await page.reload();
      await page.getByRole("heading", { name: "Chat with Product help" }).waitFor();
      await page.goto(`${url}/graphql`);
      await page.getByRole("link", { name: "console" }).click();
      await page.getByRole("heading", { name: "Agents" }).waitFor();
      check();
    } finally {
      await own.close();
      server.close();
      server.closeAllConnections();
    }
  });
});
