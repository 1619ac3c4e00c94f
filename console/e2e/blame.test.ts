// The journey from a red test to the sentence that broke it, and to the prompt that is repaired.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { watch } from "./browser";
import { agent, base, browser, gateway, journeys, newKey, signIn, visit } from "./journey";

interface RedTest {
  id: string;
  name: string;
  lastRunId: string;
  blame: { badVersion: number } | null;
}

async function red(name: string): Promise<RedTest> {
  const { agent: found } = await gateway.ask<{ agent: { tests: { nodes: RedTest[] } } }>(
    `{ agent(id: "${agent("Clinic reception")}") { tests(first: 20) { nodes { id name lastRunId blame { badVersion } } } } }`,
  );
  return found.tests.nodes.find((each) => each.name.startsWith(name)) ?? assert.fail(`there is no ${name}`);
}

journeys("blame", () => {
  test("a key that may only browse learns once what it lacks", async () => {
    const { id } = await red("Says where to park");
    const { secret } = await newKey(["browse"]);
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const { page, check, checkAccessible } = await watch(context, new URL(base).origin);
    await page.goto(`${base}tests/${id}/blame`);
    await signIn(page, secret);
    await page.getByText("Your key lacks the scopes prompts, contacts, simulate, and write").waitFor();
    await page.getByText("Change 16").waitFor();
    assert.ok(await page.getByRole("button", { name: /^Find the cause/ }).isDisabled());
    await checkAccessible();
    check();
    await context.close();
  });

  test("a red run leads to the lost sentence, which is restored and saved", async () => {
    const { lastRunId } = await red("Says where to park");
    await visit(`runs/${lastRunId}`, async (page, { check, checkAccessible, reset }) => {
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.getByRole("navigation", { name: "Test", exact: true }).waitFor();
      reset();
      await page.getByRole("link", { name: "What broke it", exact: true }).click();
      await page.getByRole("heading", { name: "One lost sentence may have broken this test" }).waitFor();
      check(1);
      const prompt = page.getByRole("region", { name: "Prompt, v1 to v2" });
      await prompt.locator("mark", { hasText: "behind the building" }).waitFor();
      const answers = page.getByRole("region", { name: "Passed and failed run" });
      await answers.locator("mark", { hasText: "behind the building" }).waitFor();
      await answers.getByText('does not hold: says "behind the building"').waitFor();
      await checkAccessible();

      await page.getByRole("button", { name: "Find the cause, about 20 runs" }).click();
      await page.getByRole("heading", { name: "One lost sentence broke this test" }).waitFor({ timeout: 60_000 });
      const proof = page.getByRole("region", { name: "Proof" });
      assert.match(await proof.getByRole("listitem").first().innerText(), /Cars park free of charge behind the building for two hours\.\s*5 of 5 pass/);
      await proof.getByText("Search complete").waitFor();
      await checkAccessible();

      await page.reload();
      await page.getByRole("heading", { name: "One lost sentence broke this test" }).waitFor();
      await page.getByRole("region", { name: "Restored prompt" }).locator("ins", { hasText: "# Getting here" }).waitFor();
      await page.getByRole("button", { name: "Restore this sentence" }).click();
      const save = page.getByRole("button", { name: "Save as v3" });
      await page.getByText("8 of 8 pass").waitFor({ timeout: 60_000 });
      const place = await save.boundingBox();
      assert.ok(place && place.y + place.height <= 800, "the next step is in view");
      await checkAccessible();
      await save.click();
      await page.getByText("The prompt is v3 now.").waitFor();
      assert.equal(await page.getByRole("button", { name: "Restore this sentence" }).count(), 0);
      const { agent: saved } = await gateway.ask<{ agent: { prompt: string; promptVersion: number } }>(`{ agent(id: "${agent("Clinic reception")}") { prompt promptVersion } }`);
      assert.equal(saved.promptVersion, 3);
      assert.match(saved.prompt, /# Getting here\n- Cars park free of charge behind the building for two hours\./);

      await page.getByRole("button", { name: "Run the test" }).click();
      await page.getByRole("row", { name: /Says where to park.*8\/8/ }).waitFor({ timeout: 60_000 });
    });
  });

  test("a test that is green again has nothing to explain", async () => {
    const { id, blame } = await red("Says where to park");
    assert.equal(blame, null);
    await visit(`tests/${id}/blame`, async (page, { checkAccessible }) => {
      await page.getByRole("heading", { name: "This test is green" }).waitFor();
      await checkAccessible();
    });
  });

  test("a prompt that somebody else saved first is not overwritten", async () => {
    const { id } = await red("Says which bus stops here");
    await gateway.ask("mutation($input: StartAgentTestExecutionInput!) { startAgentTestExecution(input: $input) { execution { id } } }", { input: { testIds: [id] } });
    while ((await red("Says which bus stops here")).blame?.badVersion !== 3) await wait(500);
    await visit(`tests/${id}/blame`, async (page, { checkAccessible }) => {
      await page.getByRole("button", { name: /^Find the cause/ }).click();
      await page.getByRole("button", { name: "Restore this sentence" }).click({ timeout: 60_000 });
      await page.getByText("8 of 8 pass").waitFor({ timeout: 60_000 });
      const { agent: theirs } = await gateway.ask<{ agent: { id: string; prompt: string } }>(`{ agent(id: "${agent("Clinic reception")}") { id prompt } }`);
      await gateway.ask("mutation($input: UpdateAgentPromptInput!) { updateAgentPrompt(input: $input) { agent { id } } }", {
        input: { agentId: theirs.id, prompt: `${theirs.prompt}\nBe brief.` },
      });
      await page.getByRole("button", { name: "Save as v4" }).click();
      await page.getByRole("alert").getByText("Somebody else saved v4 after you opened this page, so nothing was saved.").waitFor();
      await page.getByRole("button", { name: "Run the test" }).waitFor();
      await page.setViewportSize({ width: 390, height: 844 });
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
      await page.getByLabel("More").click();
      await page.getByRole("link", { name: "Edit test" }).waitFor();
      await checkAccessible();
    });
  });
});
