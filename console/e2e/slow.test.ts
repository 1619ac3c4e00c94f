// Actions before the gateway has answered: no button acts on another object, and no input is lost.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { agent, base, connectRealTool, gateway, journeys, visit } from "./journey";

/** Holds the responses to an operation until the returned function is called. */
async function hold(page: Page, operation: string): Promise<() => Promise<void>> {
  let release = () => {};
  const isReleased = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/graphql", async (route) => {
    if (!new RegExp(`(query|mutation) ${operation}\\b`).test(route.request().postData() ?? "")) return route.fallback();
    const response = await route.fetch();
    await isReleased;
    await route.fulfill({ response });
  });
  return async () => {
    const answered = page.waitForResponse((response) => new RegExp(`(query|mutation) ${operation}\\b`).test(response.request().postData() ?? ""));
    release();
    await (await answered).finished();
  };
}

const executionsOf = async (name: string) =>
  (await gateway.ask<{ agentTestExecutions: { totalCount: number } }>(`{ agentTestExecutions(agentId: "${agent(name)}") { totalCount } }`)).agentTestExecutions.totalCount;

/** The id of a new chat about a kettle, without real calls. */
async function newChat(): Promise<string> {
  const { startSimulationChat } = await gateway.ask<{ startSimulationChat: { simulationChat: { id: string } } }>(
    "mutation($input: StartSimulationChatInput!) { startSimulationChat(input: $input) { simulationChat { id } } }",
    { input: { agentId: agent("Product help"), dataBag: { productName: "Brook kettle" }, toolMocking: { mockAllTools: true, sideEffects: "Deny" } } },
  );
  return startSimulationChat.simulationChat.id;
}

journeys("a slow gateway", () => {
  test("no chat starts with the agent that was chosen before", () =>
    visit(`chats/new?agent=${agent("Card support")}`, async (page) => {
      const start = page.getByRole("button", { name: "Start chat" });
      await start.waitFor();
      const release = await hold(page, "ChatForm");
      await page.getByRole("combobox", { name: "Agent" }).selectOption({ label: "Product help" });
      await start.and(page.locator(":disabled")).waitFor();
      await release();
      await page.getByLabel("productName").fill("Brook kettle");
      await start.click();
      await page.getByRole("heading", { level: 1, name: "Product help" }).waitFor();
    }));

  test("no chat starts before its real calls are shown", async () => {
    await connectRealTool("Product help");
    await visit(`chats/new?agent=${agent("Product help")}`, async (page) => {
      const chats = async () => (await gateway.ask<{ simulationChats: { totalCount: number } }>("{ simulationChats { totalCount } }")).simulationChats.totalCount;
      const before = await chats();
      const start = page.getByRole("button", { name: "Start chat" });
      await page.getByLabel("productName").fill("Brook kettle");
      await page.getByText("Sandboxed: no real calls").waitFor();
      const release = await hold(page, "ChatForm");
      await page.getByRole("checkbox", { name: "All tools" }).uncheck();
      await page.getByRole("checkbox", { name: /^Deny/ }).uncheck();
      await page.getByText("Sandboxed: no real calls").waitFor({ state: "detached" });
      await start.click();
      await release();
      await page.getByText("Real calls:").waitFor();
      await start.and(page.locator(":enabled")).waitFor();
      assert.equal(await chats(), before, "the notice came first");
      await start.click();
      await page.getByRole("heading", { level: 1, name: "Product help" }).waitFor();
    });
  });

  test("a message is seen once, even while its sending is not confirmed", async () => {
    await visit(`chats/${await newChat()}`, async (page) => {
      const release = await hold(page, "Send");
      await page.getByText("Live", { exact: true }).waitFor();
      await page.getByRole("textbox", { name: "Message" }).fill("Can the kettle keep water warm?");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: /^Source 1/ }).waitFor();
      assert.equal(await page.getByRole("article").getByText("Can the kettle keep water warm?", { exact: true }).count(), 1);
      await release();
    });
  });

  test("what is written in a chat is kept until it is sent", async () => {
    const path = `chats/${await newChat()}`;
    await visit(path, async (page) => {
      const message = page.getByRole("textbox", { name: "Message" });
      await message.fill("x".repeat(4_001));
      await page.getByText("4,001 of 4,000 characters").waitFor();
      await page.keyboard.press("Enter");
      assert.ok(await page.getByRole("button", { name: "Send", exact: true }).isDisabled());
      await page.reload();
      assert.equal((await message.inputValue()).length, 4_001);

      const text = "Can the kettle keep water warm?";
      await page.route("**/graphql", (route) => (/mutation Send\b/.test(route.request().postData() ?? "") ? route.abort() : route.fallback()));
      await message.fill(text);
      await page.keyboard.press("Enter");
      await page.getByText(/^The turn failed/).waitFor();
      await page.reload();
      await page.getByText("Your last message was not sent.").waitFor();
      await page.getByRole("article").getByText(text).waitFor();
      await page.unrouteAll();
      // Another message is sent first. The one that was not sent can still be edited.
      await message.fill("Hello?");
      await page.keyboard.press("Enter");
      await page.getByRole("log").getByText("Hello?").first().waitFor();
      assert.equal(await message.inputValue(), text);
    }, [/ERR_FAILED/]);
  });

  test("a double click runs tests once", async () => {
    const before = await executionsOf("Product help");
    await visit(`tests?agent=${agent("Product help")}`, async (page) => {
      const release = await hold(page, "ExecutionCoverage");
      const run = page.getByRole("button", { name: "Run all" });
      await run.dblclick();
      assert.ok(await run.isDisabled());
      await release();
      await page.waitForURL(/execution=/);
      assert.equal(await executionsOf("Product help"), before + 1);
    });
  });

  test("a page that was left does not come back", () =>
    visit(`agents/${agent("Product help")}`, async (page) => {
      const release = await hold(page, "RunTests");
      await page.getByRole("button", { name: "Run tests" }).click();
      await page.getByRole("link", { name: "Knowledge", exact: true }).first().click();
      await page.getByRole("heading", { level: 1, name: "Knowledge" }).waitFor();
      await release();
      await page.getByRole("button", { name: "New dataset" }).click();
      await page.getByRole("dialog").waitFor();
      assert.equal(page.url(), `${base}knowledge?new=dataset`);
    }));

  test("what is written while a prompt is saved stays", () =>
    visit(`agents/${agent("Flight rebooking")}`, async (page) => {
      const prompt = page.getByRole("textbox", { name: "Prompt" });
      await prompt.fill("You rebook flights.");
      const release = await hold(page, "SavePrompt");
      await page.keyboard.press("Control+s");
      await prompt.fill("You rebook flights and trains.");
      await release();
      await page.getByText("Saved as v2.").waitFor();
      assert.equal(await prompt.inputValue(), "You rebook flights and trains.");
      await page.getByRole("button", { name: "Save as v3" }).click();
      await page.getByText("Saved as v3.").waitFor();
    }));

  test("the answer for one test leaves the editor of another open", () =>
    visit(`tests?agent=${agent("Clinic reception")}`, async (page) => {
      const dialog = page.getByRole("dialog");
      const tests = page.locator("tr:has([data-cell]) th button:first-child");
      await tests.nth(0).click();
      await dialog.getByLabel("Scenario").fill("says: Hello");
      const release = await hold(page, "UpdateTest");
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByRole("button", { name: "Close" }).click();
      await tests.nth(1).click();
      await dialog.getByLabel("Name", { exact: true }).fill("Being written");
      await release();
      await dialog.getByLabel("Scenario").fill("says: Goodbye");
      assert.equal(await dialog.getByLabel("Name", { exact: true }).inputValue(), "Being written");
    }));

  test("what one question found is not kept as the answer to another", async () => {
    const { knowledgeBaseChats } = await gateway.ask<{ knowledgeBaseChats: { nodes: { id: string; name: string }[] } }>("{ knowledgeBaseChats { nodes { id name } } }");
    const manuals = knowledgeBaseChats.nodes.find((chat) => chat.name.includes("manuals"));
    await visit(`knowledge/chats/${manuals?.id}?q=${encodeURIComponent("Can I use vinegar to descale the kettle?")}`, async (page) => {
      const found = page.getByRole("list", { name: /^Results, best/ });
      await found.getByRole("button", { name: "This answers it" }).first().click();
      await found.getByRole("button", { name: "Saved as the right answer" }).waitFor();
      const release = await hold(page, "Retrieve");
      await page.getByLabel("Question from a contact").fill("How do I descale the kettle?");
      await page.getByRole("button", { name: "Ask" }).click();
      await found.waitFor({ state: "detached" });
      await release();
      await found.getByRole("button", { name: "This answers it" }).first().waitFor();
      assert.equal(await page.getByRole("button", { name: "Saved as the right answer" }).count(), 0);
    });
  });

  test("a schedule is made before the agents are read", () =>
    visit(`schedules?agent=${agent("Clinic reception")}`, async (page) => {
      await hold(page, "ScheduleTargets");
      await page.getByRole("button", { name: "New schedule" }).click();
      await page.getByRole("dialog").getByLabel("Name", { exact: true }).fill("At once");
      await page.getByRole("button", { name: "Create schedule" }).click();
      await page.getByRole("row", { name: /^At once/ }).getByRole("link", { name: "Clinic reception" }).waitFor();
    }));

  test("a comparison is not the one that was shown before", async () => {
    const { agentTestExecutions } = await gateway.ask<{ agentTestExecutions: { nodes: { id: string }[] } }>(
      `{ agentTestExecutions(agentId: "${agent("Clinic reception")}") { nodes { id } } }`,
    );
    const [head, old] = agentTestExecutions.nodes.slice(-2).map((execution) => execution.id);
    await visit(`compare?base=${old}&head=${head}`, async (page) => {
      const failing = page.getByText("newly failing", { exact: true });
      await failing.first().waitFor();
      const release = await hold(page, "Compare");
      await page.getByRole("link", { name: /Swap/ }).click();
      await failing.first().waitFor({ state: "detached" });
      await release();
      await page.getByText("newly passing", { exact: true }).first().waitFor();
    });
  });

  test("sums are not those of the days before", () =>
    visit("consumption", async (page) => {
      await page.getByRole("heading", { name: "By month" }).waitFor();
      const release = await hold(page, "Consumption");
      await page.getByRole("button", { name: "This month" }).click();
      await page.getByRole("heading", { name: /^By / }).first().waitFor({ state: "detached" });
      await release();
      await page.getByRole("heading", { name: "By day" }).waitFor();
    }));

  test("the place that was chosen stays chosen when others are read", () =>
    visit("keys", async (page) => {
      await page.getByRole("heading", { level: 1 }).waitFor();
      const release = await hold(page, "Places");
      await page.keyboard.press("Control+k");
      const palette = page.getByRole("dialog", { name: "Go to" });
      await palette.getByRole("combobox").press("ArrowDown");
      await palette.getByRole("combobox").press("ArrowDown");
      await palette.getByRole("option", { name: "Chats", selected: true }).waitFor();
      await release();
      await palette.getByRole("option", { name: "Card support" }).waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL(`${base}chats`);
    }));

  test("letters that follow Ctrl-K at once go into the palette, and are no commands", () =>
    visit("keys", async (page) => {
      await page.getByRole("heading", { level: 1 }).waitFor();
      let load: () => void = () => assert.fail("the palette is not asked for");
      const loaded = new Promise<void>((resolve) => (load = resolve));
      await page.route("**/assets/Palette-*.js", async (route) => {
        await loaded;
        await route.continue();
      });
      await page.keyboard.press("Control+k");
      await page.keyboard.type("gc hello?x");
      await page.keyboard.press("Backspace");
      assert.equal(page.url(), `${base}keys`);
      load();
      const palette = page.getByRole("dialog", { name: "Go to" });
      await palette.getByText("Nothing found.").waitFor();
      await page.keyboard.type("!");
      assert.equal(await palette.getByRole("combobox").inputValue(), "gc hello?!");
      await page.keyboard.press("Escape");
      await palette.waitFor({ state: "detached" });
      await page.keyboard.press("g");
      await page.keyboard.press("c");
      await page.waitForURL(`${base}chats`);
    }));

  test("Escape gives up a palette that is not there yet", () =>
    visit("keys", async (page) => {
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.route("**/assets/Palette-*.js", () => undefined);
      await page.keyboard.press("Control+k");
      await page.keyboard.type("gc");
      await page.keyboard.press("Escape");
      await page.keyboard.press("g");
      await page.keyboard.press("c");
      await page.waitForURL(`${base}chats`);
    }));

  test("a page whose script did not load says why, and loads when the gateway is back", () =>
    visit("agents", async (page, { checkAccessible }) => {
      const open = (name: string) => page.getByRole("navigation", { name: "Account" }).getByRole("link", { name }).click();
      let isAway = true;
      await page.route(/assets\/Webhooks-|console\/$/, (route) => (isAway ? route.abort() : route.continue()));
      await open("Webhooks");
      await page.getByText("The server is unreachable.").waitFor();
      await checkAccessible();
      isAway = false;
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor();

      // After an upgrade the script has another name, and the page loads again, once for each build.
      await page.evaluate(() => sessionStorage.removeItem("agentgraph:reloaded"));
      let missed = 0;
      await page.route("**/assets/Keys-*.js", (route) => (missed++ === 0 ? route.fulfill({ status: 404 }) : route.continue()));
      await open("Keys");
      await page.getByRole("heading", { level: 1, name: "Keys" }).waitFor();
      await page.route("**/assets/Consumption-*.js", (route) => route.fulfill({ status: 404 }));
      await open("Consumption");
      await page.getByText("Its script did not load.").waitFor();
    }, [/ERR_FAILED/, /404/, /Failed to fetch/]));
});
