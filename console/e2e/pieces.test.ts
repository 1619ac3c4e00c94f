// A slow model's text is visible before it is a message.
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { launch, noBrowser, watch } from "./browser";
import { startGateway } from "./gateway";

/** Milliseconds between two pieces. */
const pause = 100;
const pieces = ["Good ", "morning, ", "how can ", "I help?"];

/** An OpenAI-compatible provider that answers everything with the pieces, and holds the last one until `mayEnd` resolves. */
async function startModel(mayEnd: Promise<void>): Promise<Server> {
  const server = createServer(async (request, response) => {
    request.resume();
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    for (const content of pieces) {
      if (content === pieces.at(-1)) await mayEnd;
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
      await wait(pause);
    }
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

test("a reply appears piece by piece", { skip: noBrowser, timeout: 120_000 }, async () => {
  let end = () => {};
  const model = await startModel(new Promise((resolve) => (end = resolve)));
  const url = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`;
  const gateway = await startGateway(["--ephemeral"], { OPENAI_BASE_URL: url, OPENAI_API_KEY: "k" });
  const browser = await launch();
  try {
    const { agents } = await gateway.ask<{ agents: { nodes: { id: string }[] } }>(`{ agents(filter: { nameContains: "Product help" }) { nodes { id } } }`);
    const { page, check } = await watch(await browser.newContext(), new URL(gateway.consoleUrl).origin);
    await page.goto(gateway.consoleUrl);
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Agents" }).click();
    await page.getByRole("rowheader").getByRole("link", { name: "Product help" }).click();
    await page.getByRole("link", { name: "Chat", exact: true }).click();
    assert.ok(page.url().includes(agents.nodes[0]?.id ?? "?"));
    await page.getByLabel("productName").fill("Brook kettle");
    await page.getByRole("button", { name: "Start chat" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("textbox", { name: "Message" }).fill("Hello?");
    await page.keyboard.press("Enter");
    const draft = page.getByRole("article").filter({ hasText: "is writing" });
    await draft.getByText("Good morning,").waitFor();
    assert.ok(!(await draft.innerText()).includes("I help?"), "it was shown before it was whole");
    assert.equal(await page.getByRole("log").getByText("Good morning").count(), 0, "and not announced as a message");
    end();
    await page.getByRole("log").getByText(pieces.join("")).waitFor();
    assert.equal(await draft.count(), 0);
    assert.equal(await page.getByRole("article").getByText("Hello?", { exact: true }).count(), 1);
    check();
  } finally {
    await browser.close();
    await gateway.stop();
    model.close();
    model.closeAllConnections();
  }
});
