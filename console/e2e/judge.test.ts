// A person labels the judge's verdicts: blind and by keyboard in the queue, and on a run.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { after, before, test } from "node:test";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext } from "playwright-core";
import { launch, noBrowser, watch } from "./browser";
import { startGateway, type Gateway } from "./gateway";

/** A language model that only judges: no criterion fails, except those about hurry. */
const judge = createServer((request, response) => {
  let text = "";
  request.on("data", (piece: Buffer) => (text += piece.toString()));
  request.on("end", () => {
    const passed = !/hurr/.test(text.split("criterion").at(-1) ?? "");
    const content = JSON.stringify({ evidence: [], rationale: passed ? "Nothing is rude." : "It is short.", applies: true, passed });
    const chunk = (delta: object, finish: string | null) =>
      `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "stub", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.end(`${chunk({ role: "assistant", content }, null)}${chunk({}, "stop")}data: [DONE]\n\n`);
  });
});

let gateway: Gateway;
let browser: Browser;
let context: BrowserContext;
let agentId: string;
let runId: string;

before(async () => {
  if (noBrowser) return;
  judge.listen(0, "127.0.0.1");
  await once(judge, "listening");
  gateway = await startGateway(["--ephemeral"], {
    AGENTGRAPH_JUDGE_MODEL: "stub",
    AGENTGRAPH_JUDGE_BASE_URL: `http://127.0.0.1:${(judge.address() as AddressInfo).port}/v1`,
    AGENTGRAPH_JUDGE_API_KEY: "none",
    AGENTGRAPH_REVIEW_CONTACTS: "false",
  });
  const { agents } = await gateway.ask<{ agents: { nodes: { id: string; name: string }[] } }>(`{ agents { nodes { id name } } }`);
  agentId = agents.nodes.find((agent) => agent.name === "Clinic reception")?.id ?? "";
  const made = await gateway.ask<{ createSimulationTest: { agentTest: { id: string } } }>(
    `mutation($input: CreateSimulationTestInput!) { createSimulationTest(input: $input) { agentTest { id } } }`,
    { input: { agentId, name: "Stays calm", scenario: "Ask when the clinic is open.", criteria: ["Is never rude", "Is never in a hurry"], maxTurns: 2, variables: { clinicName: "Hill clinic" } } },
  );
  const started = await gateway.ask<{ startAgentTestExecution: { execution: { id: string } } }>(
    `mutation($input: StartAgentTestExecutionInput!) { startAgentTestExecution(input: $input) { execution { id } } }`,
    { input: { testIds: [made.createSimulationTest.agentTest.id], repeats: 12, concurrency: 5 } },
  );
  const { id } = started.startAgentTestExecution.execution;
  for (let finished = null; !finished; ) {
    const read = await gateway.ask<{ agentTestExecution: { finishedAt: string | null; runs: { nodes: { id: string; status: string; error: object | null }[] } } }>(
      `{ agentTestExecution(id: "${id}") { finishedAt runs { nodes { id status error { message } } } } }`,
    );
    finished = read.agentTestExecution.finishedAt;
    const [first] = read.agentTestExecution.runs.nodes;
    runId = first?.id ?? "";
    if (finished) assert.equal(first?.status, "Failed", JSON.stringify(first));
  }
  browser = await launch();
  context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto(gateway.consoleUrl);
  await page.getByRole("heading", { level: 1 }).waitFor();
});

after(async () => {
  await browser?.close();
  await gateway?.stop();
  judge.close();
});

test("a person labels verdicts, and the pass rate is corrected", { skip: noBrowser }, async () => {
  const base = gateway.consoleUrl.split("#")[0] ?? "";
  const { page, check, checkAccessible } = await watch(context, new URL(base).origin);
  await page.goto(`${base}tests?agent=${agentId}`);
  const card = page.getByRole("region", { name: "Judge and people" });
  await card.getByRole("button", { name: "Show agreement" }).click();
  await card.getByText("Nobody has labeled a verdict.").waitFor();
  await card.getByRole("link", { name: "Label verdicts" }).click();
  await page.getByRole("heading", { name: "Does this hold?" }).waitFor();
  await page.getByText("24 to go").waitFor();
  assert.equal(await page.getByText("Nothing is rude.").count(), 0, "the verdict is hidden");
  await checkAccessible();

  // With its name, the queue starts again.
  await page.getByLabel("Your name").fill("Ann");
  await page.getByLabel("Your name").blur();
  await page.getByRole("heading", { name: "Does this hold?" }).waitFor();
  for (let labelled = 1; labelled <= 22; labelled++) {
    await page.keyboard.press("y"); // people find the agent neither rude nor hurried
    await page.getByText(`${labelled} verdict${labelled > 1 ? "s" : ""} labeled`).waitFor();
    await page.getByRole("heading", { name: "Does this hold?" }).waitFor();
  }
  await page.keyboard.press("s");
  await page.getByText("22 verdicts labeled, 1 to go").waitFor();
  await page.getByRole("button", { name: "Verdict shown" }).click();
  await page.getByRole("heading", { name: "Is the verdict right?" }).waitFor();
  await page.getByText("Nothing is rude.").waitFor();
  await checkAccessible();

  await page.getByRole("link", { name: "Done" }).click();
  await page.getByText(/corrected \d+ %/).waitFor();
  await card.getByRole("button", { name: "Show agreement" }).click();
  await card.getByRole("row", { name: /^stub, instructions/ }).getByText("50 %").waitFor();
  await card.getByRole("list", { name: "Wrong verdicts" }).getByRole("listitem").first().waitFor();
  await checkAccessible();

  await page.goto(`${base}runs/${runId}`);
  const criterion = page.getByRole("listitem").filter({ hasText: "Is never in a hurry" });
  await criterion.getByLabel("Why the verdict is right or wrong").fill("It only says the hours.");
  await criterion.getByRole("button", { name: "The verdict is wrong" }).click();
  await criterion.getByText("“It only says the hours.”").waitFor();
  await checkAccessible();
  check();
  await page.close();
});
