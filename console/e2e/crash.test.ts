// The server is killed while an agent answers, and comes back on the same port and data.
import assert from "node:assert/strict";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { launch, noBrowser, watch } from "./browser";
import { startGateway } from "./gateway";

test("a chat survives that the server is killed", { skip: noBrowser, timeout: 120_000 }, async () => {
  const directory = await mkdtemp(join(tmpdir(), "console-"));
  await chmod(directory, 0o711); // Postgres may run as another user, who must get through this directory.
  let gateway = await startGateway(["--data-directory", directory]);
  const browser = await launch();
  const { origin, port } = new URL(gateway.consoleUrl);
  try {
    const found = await gateway.ask<{ agents: { nodes: { id: string; fields: { name: string; isMandatory: boolean; isSystem: boolean }[]; tools: { id: string; technicalName: string }[] }[] } }>(
      `{ agents(filter: { nameContains: "Card support" }) { nodes { id fields { name isMandatory isSystem } tools { id technicalName } } } }`,
    );
    const [agent] = found.agents.nodes;
    const slow = agent?.tools.find((tool) => tool.technicalName === "freeze_card");
    const dataBag = Object.fromEntries(agent?.fields.filter((f) => f.isMandatory && !f.isSystem).map((f) => [f.name, "4417"]) ?? []);
    const { startSimulationChat } = await gateway.ask<{ startSimulationChat: { simulationChat: { id: string } } }>(
      "mutation($input: StartSimulationChatInput!) { startSimulationChat(input: $input) { simulationChat { id } } }",
      {
        input: {
          agentId: agent?.id,
          dataBag,
          toolMocking: { mockAllTools: true, sideEffects: "Deny", mockedTools: [{ toolId: slow?.id, resultTemplate: `{"isFrozen": true}`, delaySeconds: 4 }] },
        },
      },
    );
    const context = await browser.newContext();
    const { page, check } = await watch(context, origin, [/ERR_/, /WebSocket/, /409/]);
    await page.goto(gateway.consoleUrl);
    await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
    await page.goto(`${origin}/console/chats/${startSimulationChat.simulationChat.id}`);
    await page.getByText("Live", { exact: true }).waitFor();
    const text = "My card was stolen, please freeze it";
    await page.getByRole("textbox", { name: "Message" }).fill(text);
    await page.keyboard.press("Enter");
    await page.getByText("Card support is thinking…").waitFor();
    await page.locator("summary", { hasText: "freeze_card" }).waitFor();

    await gateway.stop("SIGKILL");
    await page.getByText("Reconnecting…").waitFor();
    await page.getByText("The turn failed").waitFor();
    assert.equal(await page.getByRole("alert").count(), 1, "a failed turn is reported once");
    // The page is read again when its tab is visible again. The error above the page leaves the rest of the window to it.
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await page.getByRole("button", { name: "Try again" }).waitFor();
    const main = await page.locator("main").boundingBox();
    assert.ok(main && main.x > 200 && main.y < 120 && main.y + main.height <= 720, JSON.stringify(main));
    gateway = await startGateway(["--data-directory", directory, "--port", port]);
    await page.getByText("Live", { exact: true }).waitFor();
    const log = page.getByRole("log");
    // The dead process's turn holds the chat until its lease ends.
    await assert.doesNotReject(async () => {
      while (!(await log.getByText(text).isVisible())) {
        await page.getByRole("button", { name: "Send again" }).click({ timeout: 1_000 }).catch(() => undefined);
        await page.waitForTimeout(500);
      }
    });
    await page.getByRole("button", { name: "Send again" }).waitFor({ state: "detached" });
    assert.equal(await log.getByText(text).count(), 1, "said once");
    const kept = await gateway.ask<{ simulationChat: { messages: { text: string }[] } }>(
      `{ simulationChat(id: "${startSimulationChat.simulationChat.id}") { messages { text } } }`,
    );
    // The last reply appears piece by piece, and then joins the others.
    await log.getByRole("article").nth(kept.simulationChat.messages.length - 1).waitFor();
    assert.equal(await log.getByRole("article").count(), kept.simulationChat.messages.length);
    check();
  } finally {
    await browser.close();
    await gateway.stop();
    await rm(directory, { recursive: true, force: true });
  }
});
