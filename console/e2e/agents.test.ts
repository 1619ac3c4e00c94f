// Journeys with agents: find, edit, connect and chat with them.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import { agent, base, connectRealTool, gateway, journeys, visit } from "./journey";

journeys("agents and chats", () => {
  test("agents are filtered in the address, and the graph is used by keyboard", () =>
    visit("agents", async (page) => {
      await page.getByRole("combobox", { name: "Channel" }).selectOption("Phone");
      await page.getByText("3 agents", { exact: true }).waitFor();
      assert.match(page.url(), /channel=Phone/);
      await page.goBack();
      await page.getByText("8 agents", { exact: true }).waitFor();
      await page.getByRole("combobox", { name: "Tag" }).selectOption("health");
      await page.getByText("1 agent", { exact: true }).waitFor();
      await page.goBack();
      await page.getByText("8 agents", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Graph" }).click();
      await page.getByRole("button", { name: /^Card support, Phone/ }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Card support" }).waitFor();
      await page.getByRole("combobox", { name: "Shown agents" }).selectOption({ label: "1 step around Card support" });
      await page.getByRole("group", { name: "5 agents and their delegations" }).waitFor();
      await page.getByRole("link", { name: "Open" }).click();
      await page.getByRole("heading", { level: 1, name: "Card support" }).waitFor();
    }));

  test("the graph is drawn again when the window is resized, and starts below its bar", () =>
    visit("agents?view=graph", async (page) => {
      const agents = page.getByRole("button", { name: /, (Phone|Web|SMS|WhatsApp)/ });
      const find = page.getByRole("searchbox", { name: "Find an agent" });
      await agents.first().waitFor();
      const columns = async () => new Set(await agents.evaluateAll((boxes) => boxes.map((box) => Math.round(box.getBoundingClientRect().left)))).size;
      assert.ok((await columns()) > 2, "layers");
      await page.setViewportSize({ width: 390, height: 844 });
      for (let i = 0; (await columns()) !== 2 && i < 50; i++) await page.waitForTimeout(100);
      assert.equal(await columns(), 2);
      const tops = await agents.evaluateAll((boxes) => boxes.map((box) => box.getBoundingClientRect().top));
      const bar = (await find.boundingBox())!;
      assert.ok(Math.min(...tops) >= bar.y + bar.height);
      // As with a zoom of 200 %: the panel leaves the board enough room.
      await page.setViewportSize({ width: 640, height: 360 });
      const [low, zoom] = [(await find.boundingBox())!, (await page.getByRole("button", { name: "Zoom out" }).boundingBox())!];
      assert.ok(zoom.y > low.y + low.height + 100);
    }));

  test("the graph lights the path of a running chat, and is saved as a file that needs no page", () =>
    visit("agents?view=graph", async (page) => {
      await page.getByRole("button", { name: /^Card support, Phone/ }).waitFor();
      const { startSimulationChat } = await gateway.ask<{ startSimulationChat: { simulationChat: { id: string } } }>(
        `mutation { startSimulationChat(input: { agentId: "${agent("Card support")}", dataBag: { cardLastFour: "4821", cardholderName: "Sam Okoro", serviceTier: "Gold" }, toolMocking: { mockAllTools: true, sideEffects: Deny } }) { simulationChat { id } } }`,
      );
      await gateway.ask("mutation($input: SendSimulationMessageInput!) { sendSimulationMessage(input: $input) { newMessages { sequence } } }", {
        input: { simulationChatId: startSimulationChat.simulationChat.id, text: "Where is my new card? I cannot be at home for the delivery." },
      });
      await page.getByRole("button", { name: /^Card support, .* step 1 of the running chat/ }).waitFor();
      await page.getByRole("button", { name: /^Delivery by text message, .* step 2 of the running chat/ }).waitFor();
      await page.getByText("Live chat").waitFor();

      const saving = page.waitForEvent("download");
      await page.getByRole("button", { name: "Save as SVG" }).click();
      const drawing = await readFile(await (await saving).path(), "utf8");
      assert.match(drawing, /^<svg [^>]*viewBox="[-\d. ]+"/);
      assert.match(drawing, /@font-face\{font-family:"Inter Console"/);
      assert.match(drawing, /<text [^>]*font-size="13px"[^>]*>Card support<\/text>/);
      assert.doesNotMatch(drawing, / class=|var\(|tabindex/);
    }));

  test("text from right to left begins at the right, line by line, even while it is edited", async () => {
    const text = "مرحبا، أريد إرجاع Model X-200 (الأزرق)!";
    const { startSimulationChat } = await gateway.ask<{ startSimulationChat: { simulationChat: { id: string } } }>(
      "mutation($input: StartSimulationChatInput!) { startSimulationChat(input: $input) { simulationChat { id } } }",
      { input: { agentId: agent("Product help"), dataBag: { productName: "X-200" }, messages: [{ role: "assistant", text: `${text}\n- Refund (in 14 days)!` }] } },
    );
    const id = startSimulationChat.simulationChat.id;
    /** Whether each line's last character is at the left of its first one. */
    const areFromRight = (element: Locator) =>
      element.evaluate((element) => {
        const node = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode() as Text;
        return [...node.data.matchAll(/.+/g)].map(({ index, 0: line }) => {
          const [first = 0, last = 0] = [index, index + line.length - 1].map((start) => {
            const range = document.createRange();
            range.setStart(node, start);
            range.setEnd(node, start + 1);
            return range.getBoundingClientRect().left;
          });
          return last < first;
        });
      });
    await visit(`chats/${id}`, async (page) => assert.deepEqual(await areFromRight(page.getByText("مرحبا")), [true, false]));
    await visit("chats", async (page) => assert.ok((await areFromRight(page.getByRole("cell", { name: "مرحبا" })))[0]));
    await visit(`agents/${agent("Product help")}`, async (page) => {
      await page.getByLabel("Prompt", { exact: true }).fill(text);
      assert.deepEqual(await areFromRight(page.getByText("مرحبا").and(page.locator("span"))), [true]);
    });
    await gateway.ask("mutation($input: DeleteSimulationChatInput!) { deleteSimulationChat(input: $input) { deletedId } }", { input: { simulationChatId: id } });
  });

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
      await palette.getByRole("group", { name: "Recent" }).getByRole("option", { name: "Clinic reception" }).waitFor();
      await palette.getByRole("option", { name: "Card support" }).waitFor();
      await watched.checkAccessible();
      await page.keyboard.type("card sup");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Card support" }).waitFor();

      await page.getByRole("heading", { level: 1 }).click();
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keys" }).waitFor();
      await watched.checkAccessible();
      await page.getByRole("checkbox", { name: /Single-letter shortcuts/ }).uncheck();
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

  test("tests, runs, documents and actions are found by name", () =>
    visit("agents", async (page, watched) => {
      const { agentTests, documents } = await gateway.ask<{
        agentTests: { nodes: { id: string; name: string; lastRunId: string | null; agent: { id: string } }[] };
        documents: { nodes: { id: string; name: string }[] };
      }>("{ agentTests(first: 100) { nodes { id name lastRunId agent { id } } } documents(first: 1) { nodes { id name } } }");
      const found = agentTests.nodes.find((each) => each.lastRunId);
      const [document] = documents.nodes;
      assert.ok(found?.lastRunId && document);
      const palette = page.getByRole("dialog", { name: "Go to" });
      const open = async (text: string, group: string, name: string | RegExp) => {
        await page.getByRole("button", { name: "Search" }).waitFor();
        await page.keyboard.press("Control+k");
        await palette.getByRole("combobox").fill(text);
        await palette.getByRole("group", { name: group, exact: true }).getByRole("option", { name }).first().click();
      };
      await open(found.name, "Tests", new RegExp(`^${escaped(found.name)}`));
      await page.waitForURL(`${base}tests?agent=${found.agent.id}&edit=${found.id}`);
      await page.keyboard.press("Escape");
      await page.goto(`${base}agents`);
      await open(found.name, "Recent runs", new RegExp(`^${escaped(found.name)}`));
      await page.waitForURL(`${base}runs/${found.lastRunId}`);
      await open(document.name, "Documents", document.name);
      await page.waitForURL(`${base}knowledge/documents/${document.id}`);
      await open("chat card", "Actions", "Chat with Card support");
      await page.waitForURL(`${base}chats/new?agent=${agent("Card support")}`);
      await open("create agent", "Actions", "New agent");
      await page.getByRole("dialog", { name: "New agent" }).waitFor();
      await watched.checkAccessible();
      await page.goto(`${base}agents`);
      await open("schedule", "Pages", "Schedules");
      await page.waitForURL(`${base}schedules`);
      await open("run all", "Actions", "Run all tests");
      await page.getByRole("dialog", { name: "Run all tests?" }).waitFor();
      await page.goto(`${base}agents`);
      await open("find free", "Tools", "Find free slots, Clinic reception");
      await page.getByRole("link", { name: /^Connections/ }).waitFor();
      await page.goto(`${base}agents`);
      await open(found.lastRunId, "By id", found.lastRunId);
      await page.waitForURL(`${base}runs/${found.lastRunId}`);
      await open(found.id, "By id", found.id);
      await page.waitForURL(`${base}tests?agent=${found.agent.id}&edit=${found.id}`);
      await page.goto(`${base}runs/run_%00`);
      await page.getByRole("heading", { level: 1, name: "Not found" }).waitFor();
    }));

  test("letters that are typed after a chat begins are its first message", () =>
    visit(`chats/new?agent=${agent("Card support")}`, async (page) => {
      await page.getByRole("button", { name: "Start chat" }).waitFor();
      for (const field of await page.locator("input[required]").all()) await field.fill("known");
      await page.getByRole("button", { name: "Start chat" }).click();
      const message = page.getByRole("textbox", { name: "Message" });
      await message.waitFor();
      await page.keyboard.type("Regarding tomorrow?");
      assert.equal(await message.inputValue(), "Regarding tomorrow?");
      await page.getByRole("button", { name: "Send" }).click();
      await page.keyboard.type("g t ?");
      assert.equal(await message.inputValue(), "g t ?");
      await page.getByRole("heading", { level: 1 }).click();
      await page.keyboard.press("?");
      await page.keyboard.press("g");
      await page.keyboard.press("t");
      assert.equal(await page.getByRole("dialog").count(), 0);
      assert.match(page.url(), /\/chats\/simchat_/);
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
      await page.getByText("Saved as v2.").waitFor();

      await page.getByRole("link", { name: "Versions 2" }).click();
      await page.locator("ins", { hasText: "seatWish" }).waitFor();
      await page.getByRole("button", { name: "Restore v1 as v3" }).click();
      await page.getByRole("link", { name: "Versions 3" }).waitFor();
      await page.getByRole("radio", { name: "To version 3" }).waitFor();
      await page.getByRole("link", { name: "Prompt", exact: true }).click();
      assert.equal(await prompt.inputValue(), original);

      await prompt.fill("Mine.");
      await gateway.ask("mutation($input: UpdateAgentPromptInput!) { updateAgentPrompt(input: $input) { agent { id } } }", {
        input: { agentId: agent("Flight rebooking"), prompt: "Theirs." },
      });
      await page.getByRole("button", { name: /^Save as/ }).click();
      await page.getByText("Somebody saved v4").waitFor();
      assert.equal(await prompt.inputValue(), "Mine.");
      await page.reload();
      assert.ok(await page.getByRole("button", { name: "Save as v5" }).isDisabled(), "saving waits for a decision");
      await page.getByRole("button", { name: "Keep editing" }).click();
      await page.locator("del", { hasText: "Theirs." }).waitFor();
      await page.getByRole("button", { name: "Save as v5" }).click();
      await page.getByText("Saved as v5.").waitFor();
      assert.equal(await prompt.inputValue(), "Mine.");
    }));

  test("unsaved settings are kept while another tab is open", () =>
    visit(`agents/${agent("Retours boutique")}/settings`, async (page) => {
      const language = page.getByLabel("Language", { exact: true });
      await language.fill("fr-CA");
      await page.getByLabel("Name of tag 1", { exact: true }).fill("Retour demandé");
      await page.getByRole("link", { name: "Prompt", exact: true }).click();
      const prompt = page.getByRole("textbox", { name: "Prompt" });
      await prompt.fill(`${await prompt.inputValue()}\n`);
      await page.keyboard.press("Control+s");
      await page.getByText("Saved as v2.").waitFor();
      await page.getByRole("link", { name: "Settings" }).click();
      await page.getByText("Not saved yet.").waitFor();
      assert.equal(await language.inputValue(), "fr-CA");
      assert.equal(await page.getByLabel("Name of tag 1", { exact: true }).inputValue(), "Retour demandé");
      await page.getByRole("button", { name: "Save settings" }).click();
      await page.getByText("Saved.").waitFor();
      await page.reload();
      assert.equal(await language.inputValue(), "fr-CA");
    }));

  test("settings are not lost to somebody else's", () =>
    visit(`agents/${agent("Card support")}/settings`, async (page) => {
      await page.getByLabel("Tags, separated by commas").fill("mine");
      const theirs = "mutation($input: UpdateAgentInput!) { updateAgent(input: $input) { agent { id } } }";
      await gateway.ask(theirs, { input: { agentId: agent("Card support"), tags: ["theirs"] } });
      await page.getByRole("button", { name: "Save settings" }).click();
      await page.getByText("Somebody else changed this agent").waitFor();
      assert.equal(await page.getByLabel("Tags, separated by commas").inputValue(), "mine");
      await page.getByRole("link", { name: "#theirs" }).waitFor();
      await page.getByRole("button", { name: "Overwrite with mine" }).click();
      await page.getByText("Saved.").waitFor();
      await page.getByRole("link", { name: "#mine" }).waitFor();

      await gateway.ask(theirs, { input: { agentId: agent("Card support"), tags: ["theirs"] } });
      await page.getByLabel("Language").fill("nonsense");
      await page.getByRole("button", { name: "Save settings" }).click();
      await page.getByRole("alert").waitFor();
      await page.getByLabel("Language").fill("en");
      await page.getByRole("button", { name: "Save settings" }).click();
      await page.getByText("Somebody else changed this agent").waitFor();
      await page.getByRole("button", { name: "Take theirs" }).click();
      assert.equal(await page.getByLabel("Tags, separated by commas").inputValue(), "theirs");
    }));

  test("a chat is held, its source and calls are opened, and a test is made of it", () =>
    visit(`chats/new?agent=${agent("Product help")}`, async (page, watched) => {
      await page.getByLabel("productName").fill("Brook kettle");
      await page.getByText("Sandboxed: no real calls").waitFor();
      await page.getByRole("button", { name: "Start chat" }).click();
      await page.getByRole("heading", { level: 1, name: "Product help" }).waitFor();
      await page.getByText("Live", { exact: true }).waitFor();
      watched.reset();
      await page.getByRole("textbox", { name: "Message" }).fill("Can the kettle keep water warm?");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: /^Source 1/ }).click();
      await page.getByRole("link", { name: "support_questions.csv" }).last().waitFor();
      await page.locator("summary", { hasText: "knowledge_base" }).click();
      assert.equal(await page.getByRole("article").getByText("Can the kettle keep water warm?", { exact: true }).count(), 1, "said once");
      watched.check(2);
      await page.getByRole("button", { name: "This answers it" }).click();
      await page.getByRole("button", { name: "Saved as the right answer" }).waitFor();
      await page.getByText("Model input").click();
      await page.locator("pre", { hasText: "Brook kettle" }).last().waitFor();
      await page.getByRole("button", { name: "Create test" }).click();
      await page.getByLabel("Scenario from here").fill('says: "Thank you, goodbye"');
      await page.getByRole("dialog").getByRole("button", { name: "Create test" }).click();
      await page.getByText("Test created").waitFor();
      await page.getByRole("link", { name: "Show all tests" }).click();
      await page.getByRole("button", { name: "Can the kettle keep water warm?" }).waitFor();
    }));

  test("what an agent has is tried, changed and copied", () =>
    visit(`agents/${agent("Clinic reception")}/connections`, async (page, { checkAccessible }) => {
      await page.getByRole("button", { name: "Try Find free slots" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("textbox", { name: "Arguments" }).fill('{"visitType": "general", "from": "2026-03-02"}');
      await dialog.getByRole("button", { name: "Call", exact: true }).click();
      await dialog.getByText("A sample of the demo answered. Nothing was called.").waitFor();
      await dialog.getByText("Dr Okafor").waitFor();
      await checkAccessible();
      await dialog.getByRole("textbox", { name: "Arguments" }).fill('{"visitType": 5}');
      await dialog.getByRole("button", { name: "Call", exact: true }).click();
      await dialog.getByText("are invalid: ", { exact: false }).waitFor();
      await dialog.getByText("Nothing was called: see the fields marked above.").waitFor();
      await dialog.getByRole("textbox", { name: "Arguments" }).fill("[1");
      await dialog.getByText("are invalid: ", { exact: false }).waitFor({ state: "detached" });
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Discard" }).click();
      await page.getByRole("button", { name: "Edit Send text message" }).click();
      await dialog.getByLabel("Description for the model").fill("Sends a short text message.");
      await checkAccessible();
      await dialog.getByRole("button", { name: "Save tool" }).click();
      await page.getByText("Sends a short text message.").waitFor();
      await page.getByLabel("More", { exact: true }).first().click();
      await page.getByRole("button", { name: "Duplicate" }).click();
      await page.getByRole("heading", { level: 1, name: "Clinic reception (copy)" }).waitFor();
      const fields = page.getByLabel("Data bag fields");
      const written = await fields.inputValue();
      await fields.fill("fine\n\n1bad\nworse!");
      await page.getByRole("button", { name: "Save settings" }).click();
      await page.getByText(/^1bad .* · worse! /).waitFor();
      await fields.fill(written);
      await page.getByRole("button", { name: "Add value" }).click();
      await page.getByLabel("Name of value 5").fill("insurer");
      await checkAccessible();
      await page.getByRole("button", { name: "Save settings" }).click();
      await page.getByText("Saved.", { exact: true }).waitFor();
      await page.reload();
      assert.equal(await page.getByLabel("Name of value 5").inputValue(), "insurer");
      await page.getByRole("link", { name: /^Versions/ }).click();
      await page.getByRole("button", { name: "Add note of v1" }).click();
      await page.getByLabel("Note for v1").fill("As of spring");
      await page.keyboard.press("Enter");
      await page.getByText("As of spring").waitFor();
    }));

  test("a prompt is tried without saving it", async () => {
    await connectRealTool("Product help");
    await visit(`agents/${agent("Product help")}`, async (page, { checkAccessible }) => {
      await page.getByRole("textbox", { name: "Prompt" }).fill("You only ever talk of kettles.");
      await page.getByRole("link", { name: "Chat with draft" }).click();
      await page.getByText("This chat uses your unsaved draft of the prompt.").waitFor();
      await page.getByLabel("productName").fill("Brook kettle");
      // The page names real calls before the chat starts.
      await page.getByRole("checkbox", { name: "All tools" }).uncheck();
      await page.getByRole("checkbox", { name: /^Deny/ }).uncheck();
      await page.getByText("Real calls:").waitFor();
      await checkAccessible();
      await page.getByRole("checkbox", { name: /^Deny/ }).check();
      await page.getByText("Sandboxed: no real calls").waitFor();
      await page.getByRole("button", { name: "Start chat" }).click();
      await page.getByRole("heading", { level: 1, name: "Product help" }).waitFor();
      await page.getByText("Draft").waitFor();
      await checkAccessible();
      await page.getByRole("link", { name: "Chats", exact: true }).first().click();
      await page.getByRole("row", { name: /Product help.*Draft/ }).waitFor();
      await page.goto(`${base}agents/${agent("Product help")}`);
      const prompt = await page.getByLabel("Prompt", { exact: true }).inputValue();
      await page.getByRole("button", { name: "Discard" }).click();
      await page.keyboard.press("Escape");
      assert.equal(await page.getByLabel("Prompt", { exact: true }).inputValue(), prompt);
      await page.getByRole("button", { name: "Discard" }).click();
      await page.getByRole("button", { name: "Discard draft" }).click();
      await page.getByRole("button", { name: "Discard" }).waitFor({ state: "detached" });
    });
  });

  test("a dialog returns the focus, and asks before it closes over typed text", () =>
    visit("agents", async (page, { checkAccessible }) => {
      const focused = () => page.evaluate(() => document.activeElement?.getAttribute("name") ?? document.activeElement?.textContent);
      await page.getByRole("button", { name: "New agent" }).click();
      assert.equal(await focused(), "name");
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      assert.equal(await focused(), "New agent");
      await page.keyboard.press("Enter");
      await page.keyboard.type("Ada");
      await page.keyboard.press("Escape");
      const question = page.getByRole("dialog", { name: "Discard your input?" });
      await question.waitFor();
      await checkAccessible();
      assert.equal(await focused(), "Cancel");
      await page.keyboard.press("Escape");
      // The browser itself closes the first dialog now. It opens again, below the question.
      await page.keyboard.press("Escape");
      await question.getByRole("button", { name: "Cancel" }).click();
      assert.equal(await page.getByRole("dialog").getByLabel("Name").inputValue(), "Ada");
      await page.getByRole("button", { name: "Close" }).click();
      await question.getByRole("button", { name: "Discard" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      assert.equal(await focused(), "New agent");

      // So do the browser's Back and Reload.
      for (const name of [/^Knowledge/, /^Agents/]) await page.getByRole("complementary").getByRole("link", { name }).click();
      await page.getByRole("button", { name: "New agent" }).click();
      await page.keyboard.type("Ada");
      await page.evaluate(() => history.back());
      await question.getByRole("button", { name: "Cancel" }).click();
      const asked = page.waitForEvent("dialog");
      void page.evaluate(() => location.reload());
      await (await asked).dismiss();
      assert.equal(await page.getByRole("dialog").getByLabel("Name").inputValue(), "Ada");
      await page.evaluate(() => history.back());
      await question.getByRole("button", { name: "Discard" }).click();
      await page.getByRole("heading", { level: 1, name: "Knowledge" }).waitFor();
      await page.evaluate(() => history.back());
      await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();

      // A menu's entry is hidden when its dialog closes.
      await page.getByLabel("Help and documentation").click();
      await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
      await page.getByRole("dialog", { name: "Keys" }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Help and documentation");
    }));

  test("a long name and a narrow window hide nothing", async () => {
    const input = { name: "x".repeat(200), channel: "Web", direction: "Inbound", language: "en", prompt: "Hello" };
    const { createAgent } = await gateway.ask<{ createAgent: { agent: { id: string } } }>("mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }", { input });
    const { id } = createAgent.agent;
    for (const path of ["chats/new", `chats/new?agent=${id}`, `agents/${id}`, "agents"]) {
      await visit(path, async (page) => {
        for (const width of [1280, 390]) {
          await page.setViewportSize({ width, height: 844 });
          await page.getByText(input.name).first().waitFor({ state: "attached" });
          assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, path);
        }
        if (path !== "agents") return;
        await page.setViewportSize({ width: 1280, height: 844 });
        const last = await page.getByRole("columnheader", { name: "Last run" }).boundingBox();
        assert.ok(last && last.x + last.width <= 1280);
      });
    }
    await gateway.ask("mutation ($input: DeleteAgentInput!) { deleteAgent(input: $input) { deletedId } }", { input: { agentId: id } });
    await visit(`agents/${agent("Clinic reception")}`, async (page) => {
      await page.setViewportSize({ width: 390, height: 844 });
      await page.getByLabel("More").click();
      await page.getByRole("button", { name: "Run tests" }).waitFor();
    });
  });

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
      await page.getByRole("main").locator("summary").first().click();
      await page.getByRole("button", { name: "New folder" }).click();
      await page.getByLabel("Name").fill("By night");
      await page.getByRole("button", { name: "Create folder" }).click();
      await page.getByRole("button", { name: "Edit the folder By night" }).click();
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("button", { name: "Delete folder" }).click();
      await page.getByRole("button", { name: "Edit the folder By night" }).waitFor({ state: "detached" });
    });
    await visit(`agents/${agent("Clinic reception")}/connections`, async (page) => {
      await page.getByRole("button", { name: "New tool" }).click();
      await page.getByLabel("Name", { exact: true }).fill("Find the way");
      assert.equal(await page.getByLabel("Name for the model").inputValue(), "find_the_way");
      await page.getByLabel("Description for the model").fill("Says how to get here.");
      await page.getByRole("button", { name: "Create and connect" }).click();
      await page.getByRole("button", { name: "Disconnect Find the way" }).waitFor();
      await page.getByLabel("Another agent").selectOption({ label: "Product help" });
      await page.getByRole("button", { name: "Connect", exact: true }).nth(1).click();
      await page.getByLabel("When to delegate, for the model").fill("Ask it about kettles.");
      await page.getByRole("dialog").getByRole("button", { name: "Connect" }).click();
      await page.getByRole("button", { name: "Remove Product help" }).click();
      await page.getByRole("button", { name: "Remove sub-agent" }).click();
      await page.getByRole("button", { name: "Remove Product help" }).waitFor({ state: "detached" });
    });
  });

  test("any agent of a large company is found, and its red tests are listed", async () => {
    const more = Array.from({ length: 100 }, (_, i) => `a${i}: createAgent(input: { name: "Branch ${i}", channel: Web, direction: Inbound, language: "en", prompt: "Hello" }) { agent { id } }`);
    for (let at = 0; at < more.length; at += 20) await gateway.ask(`mutation { ${more.slice(at, at + 20).join(" ")} }`);
    const clinic = agent("Clinic reception");
    await visit(`chats/new?agent=${clinic}`, async (page, { check, checkAccessible }) => {
      const picker = page.getByLabel("Agent", { exact: true });
      const chosen = () => picker.locator("option:checked").innerText();
      await page.getByText("clinicName", { exact: false }).first().waitFor();
      assert.equal(await chosen(), "Clinic reception");
      check(3);
      await page.getByLabel("Find an agent").fill("card");
      await page.getByText("1 agent found").waitFor();
      await checkAccessible();
      await picker.selectOption({ label: "Card support" });
      await page.waitForURL(`${base}chats/new?agent=${agent("Card support")}`);

      await page.goto(`${base}schedules`);
      await page.getByRole("button", { name: "New schedule" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Find an agent").fill("clinic");
      await dialog.getByText(/^\d agents? found$/).waitFor();
      await dialog.getByLabel("Tests", { exact: true }).selectOption({ label: "All of Clinic reception" });
      await page.keyboard.press("Escape");

      await page.goto(`${base}agents`);
      await page.getByRole("button", { name: "Search" }).waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: /^Search pages/ }).fill("label");
      await page.getByRole("option", { name: /^Label verdicts of / }).first().waitFor();
      await page.getByRole("combobox", { name: /^Search pages/ }).fill("label card");
      await page.getByRole("option", { name: "Label verdicts of Card support" }).waitFor();

      await page.goto(`${base}agents/${agent("Card support")}/connections`);
      await page.getByLabel("Find an agent").fill("clinic");
      await page.getByText(/^\d agents? found$/).waitFor();
      await page.getByLabel("Another agent").selectOption({ label: "Clinic reception" });

      await page.goto(base);
      await page.getByRole("link", { name: "Clinic reception", exact: false }).first().waitFor();
      await page.getByRole("button", { name: /^Run all tests/ }).waitFor();
      await page.getByRole("link", { name: /^\d+ more$/ }).click();
      await page.getByRole("row", { name: /Says where to park.*Clinic reception/ }).waitFor();
      await checkAccessible();
      await page.getByRole("button", { name: "By agent" }).click();
      await page.getByLabel("Find an agent").fill("clinic");
      await page.getByRole("row", { name: /Clinic reception/ }).first().waitFor();
    });
  });
});

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
