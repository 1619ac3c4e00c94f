// A call waits for a person, who answers it on the chat's page.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { launch, noBrowser, watch } from "./browser";
import { startGateway } from "./gateway";

const prompt = "# Examples\nUser: refund me\nCall: refund reason=<message>\nAgent: It is <state>.\n";

test("a person approves and denies calls in the console", { skip: noBrowser, timeout: 120_000 }, async () => {
  let calls = 0;
  const shop = createServer((_, response) => {
    calls++;
    response.end(JSON.stringify({ state: "refunded" }));
  });
  await new Promise<void>((resolve) => shop.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
  const gateway = await startGateway(["--ephemeral"], { AGENTGRAPH_TOOL_ALLOW: "127.0.0.1" });
  const browser = await launch();
  try {
    const made = await gateway.ask<{ createAgent: { agent: { id: string } }; createTool: { tool: { id: string } } }>(
      `mutation ($prompt: String!, $url: String!, $parameters: JSONObject!) {
        createAgent(input: { name: "Refunds", channel: Web, direction: Inbound, language: "en", prompt: $prompt }) { agent { id } }
        createTool(input: { name: "Refund", technicalName: "refund", approval: Ask, parameters: $parameters
          endpoint: { method: POST, url: $url, timeoutSeconds: 5 } }) { tool { id } }
      }`,
      { prompt, url, parameters: { type: "object", properties: { reason: { type: "string" } } } },
    );
    const agentId = made.createAgent.agent.id;
    await gateway.ask("mutation ($input: ConnectToolInput!) { connectTool(input: $input) { agent { id } } }", {
      input: { agentId, toolId: made.createTool.tool.id },
    });
    const { startSimulationChat } = await gateway.ask<{ startSimulationChat: { simulationChat: { id: string } } }>(
      "mutation ($agentId: ID!) { startSimulationChat(input: { agentId: $agentId }) { simulationChat { id } } }",
      { agentId },
    );
    const context = await browser.newContext();
    const { page, check, checkAccessible } = await watch(context, new URL(gateway.consoleUrl).origin);
    await page.goto(gateway.consoleUrl);
    await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
    await page.goto(`${gateway.consoleUrl.split("#")[0] ?? ""}chats/${startSimulationChat.simulationChat.id}`);
    await page.getByText("Live", { exact: true }).waitFor();
    const card = page.getByRole("region", { name: "Approve refund" });
    const say = async (text: string) => {
      await page.getByRole("textbox", { name: "Message" }).fill(text);
      await page.keyboard.press("Enter");
      await card.waitFor();
    };

    const watcher = await watch(context, new URL(gateway.consoleUrl).origin);
    await watcher.page.goto(page.url());
    await watcher.page.getByText("Live", { exact: true }).waitFor();

    await say("refund me");
    // Another tab shows the same: the question, the running call, and no way to send another message.
    const call = watcher.page.locator("summary", { hasText: "refund" });
    await call.getByText("Running").waitFor();
    await watcher.page.getByRole("article").getByText("refund me", { exact: true }).waitFor();
    await watcher.page.getByRole("textbox", { name: "Message" }).fill("Hello?");
    await watcher.page.getByText("Replying").waitFor();
    assert.ok(await watcher.page.getByRole("button", { name: "Send" }).isDisabled());
    // So does a tab that is opened now.
    await watcher.page.reload();
    await call.getByText("Running").waitFor();
    await card.getByText('"reason": "refund me"').waitFor();
    await card.getByText(/^Denied in/).waitFor();
    await checkAccessible();
    assert.equal(calls, 0);
    await card.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("log").getByText("It is refunded.").waitFor();
    await card.waitFor({ state: "detached" });
    assert.equal(calls, 1);
    await call.getByText("Real").waitFor();
    assert.equal(await call.getByText("was not saved").count(), 0);
    await watcher.page.getByText("Open", { exact: true }).waitFor();
    watcher.check();
    await watcher.page.close();

    await say("refund me");
    const list = await context.newPage();
    await list.goto(`${gateway.consoleUrl.split("#")[0] ?? ""}chats`);
    await list.getByRole("combobox", { name: "Status" }).selectOption({ label: "Needs approval" });
    await list.getByText("1 chat", { exact: true }).waitFor();
    await list.getByRole("rowheader").getByRole("link", { name: "Refunds" }).waitFor();
    await list.close();
    // The card is there again after a reload, since the server waits.
    await page.reload();
    await card.getByRole("textbox", { name: "Note" }).fill("Ask the manager");
    await card.getByRole("button", { name: "Deny" }).click();
    await page.getByRole("log").getByText("that did not work: a person did not approve the call, so nothing was done: Ask the manager").waitFor();
    await card.waitFor({ state: "detached" });
    await page.locator("summary", { hasText: "refund" }).getByText("Denied").waitFor();
    assert.equal(calls, 1);

    // A client of the API sends a message and leaves. The call still waits, and does not show as failed.
    const leave = new AbortController();
    const left = fetch(gateway.graphqlUrl, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Api-Key": gateway.apiKey },
      body: JSON.stringify({
        query: "mutation ($id: ID!) { sendSimulationMessage(input: { simulationChatId: $id, text: \"refund me\" }) { simulationChat { id } } }",
        variables: { id: startSimulationChat.simulationChat.id },
      }),
      signal: leave.signal,
    });
    await card.waitFor();
    leave.abort();
    await assert.rejects(left);
    await page.getByText("Open", { exact: true }).waitFor();
    const last = page.locator("summary", { hasText: "refund" }).last();
    const waits = async () => {
      await last.getByText("Running").waitFor();
      assert.equal(await page.getByText(/was not saved|The turn failed/).count(), 0);
    };
    await waits();
    await page.reload();
    await waits();
    await card.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("log").getByText("It is refunded.").nth(1).waitFor();
    await last.getByText("Real").waitFor();
    await page.getByText("Open", { exact: true }).waitFor();
    assert.equal(calls, 2);
    check();
  } finally {
    await browser.close();
    await gateway.stop();
    shop.close();
    shop.closeAllConnections();
  }
});
