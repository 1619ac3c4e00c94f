// Journeys with tests: run them, and find out why one fails.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { agent, base, gateway, journeys, visit } from "./journey";

interface RunWithQuotes {
  id: string;
  messages: { text: string }[];
  criteriaResults: { evidence: { quote: string; messageIndex: number; speaker: string }[] }[];
  test: { folder: { name: string } };
}

journeys("tests", () => {
  test("all tests run five times, live, and what did not pass is run again", () =>
    visit(`tests?agent=${agent("Clinic reception")}`, async (page) => {
      await page.getByRole("button", { name: "Run all" }).click();
      await page.waitForURL(/execution=/);
      await page.locator("td a[data-cell]").nth(39).waitFor();
      await page.getByRole("button", { name: "Retry not passed" }).waitFor({ timeout: 60_000 });
      assert.equal(await page.locator("td a[data-cell]").count(), 40);
      await page.getByText(/passed, .* in 8 tests$/).waitFor();
      const before = page.url();
      await page.getByRole("button", { name: "Retry not passed" }).click();
      await page.waitForURL((url) => url.href !== before);
      await page.getByRole("row", { name: /retry/ }).waitFor();
      await page.getByText(/in \d of 8 tests$/).waitFor({ timeout: 60_000 });
      await page.locator("td a[data-cell]").first().focus();
      await page.keyboard.press("ArrowRight");
      assert.ok(await page.evaluate(() => document.activeElement?.hasAttribute("data-cell")));
    }));

  test("a red test leads to the sentence that was lost in two clicks", () =>
    visit("agents", async (page) => {
      await page.getByRole("row", { name: /^Clinic reception/ }).getByRole("link", { name: /of 8 tests pass/ }).click();
      await page.getByRole("row", { name: /Says where to park/ }).getByRole("link", { name: "v2: what broke it" }).click();
      await page.getByRole("heading", { name: "One lost sentence may have broken this test" }).waitFor();
      await page.getByText("removed: Cars park free of charge behind the building for two hours.").waitFor();
    }));

  test("the unsaved prompt is compared with the saved one", () =>
    visit(`agents/${agent("Clinic reception")}`, async (page, { checkAccessible }) => {
      await page.getByRole("textbox", { name: "Prompt" }).fill("Book visits. Cars park free of charge behind the building.");
      await page.goto(`${base}tests?agent=${agent("Clinic reception")}`);
      await page.getByRole("button", { name: "Compare", exact: true }).click();
      const dialog = page.getByRole("dialog", { name: "Compare prompts and models" });
      const same = dialog.getByText("Variants 1 and 2 are the same");
      await same.waitFor();
      await dialog.getByLabel("Prompt of variant 2").selectOption({ label: "Draft of v2" });
      await same.waitFor({ state: "detached" });
      await dialog.getByLabel("Temperature of variant 2").fill("0.5");
      await checkAccessible();
      await dialog.getByRole("button", { name: "Run 2 variants" }).click();
      await page.waitForURL(/compare\?variants=/);
      const { searchParams } = new URL(page.url());
      const { agentTestExecution } = await gateway.ask<{ agentTestExecution: { variants: { label: string; settings: object | null }[] } }>(
        "query ($id: ID!) { agentTestExecution(id: $id) { variants { label settings } } }",
        { id: searchParams.get("variants") },
      );
      assert.deepEqual(agentTestExecution.variants, [
        { label: "now", settings: null },
        { label: "draft temperature 0.5", settings: { llmSettings: { temperature: 0.5 } } },
      ]);
      await page.getByText("draft, temperature 0.5").first().waitFor();
      await page.getByRole("columnheader", { name: /draft/ }).or(page.getByRole("rowheader", { name: /draft/ })).first().waitFor();
      await checkAccessible();
    }));

  test("a run shows the judge's quotes where they stand", async () => {
    const { agentTestRuns } = await gateway.ask<{
      agentTestRuns: { nodes: RunWithQuotes[] };
    }>("{ agentTestRuns(status: Passed, first: 50) { nodes { id messages { text } criteriaResults { evidence { quote messageIndex speaker } } test { folder { name } } } } }");
    const run = agentTestRuns.nodes.find((r) => r.test.folder && r.criteriaResults.some((c) => c.evidence.some((e) => r.messages[e.messageIndex]?.text.includes(e.quote))));
    const evidence = run?.criteriaResults.flatMap((c) => c.evidence).find((e) => run.messages[e.messageIndex]?.text.includes(e.quote));
    assert.ok(run?.test.folder && evidence);
    await visit(`runs/${run.id}`, async (page) => {
      const marked = page.locator(`#message-${evidence.messageIndex} mark`).first();
      assert.ok((await marked.innerText()).startsWith(evidence.quote));
      await page.getByRole("button", { name: `message ${evidence.messageIndex}, the ${evidence.speaker === "user" ? "contact" : "agent"}` }).first().waitFor();
      await page.getByText("Decided by a rule, without a model.").first().waitFor();
      await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: run.test.folder.name }).click();
      await page.getByRole("rowgroup").getByText(run.test.folder.name, { exact: false }).first().waitFor();
      assert.equal(await page.getByRole("button", { name: /^Edit the folder/ }).count(), 1, "the folder's tests alone");
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
    const { agentTestExecutions } = await gateway.ask<{ agentTestExecutions: { nodes: { id: string; counts: { total: number } }[] } }>(
      `{ agentTestExecutions(agentId: "${agent("Clinic reception")}") { nodes { id counts { total } } } }`,
    );
    const [head, old] = agentTestExecutions.nodes.slice(-2).map((execution) => execution.id);
    const ofAll = agentTestExecutions.nodes.find((execution) => execution.counts.total === 40);
    await visit(`compare?base=${old}&head=${head}`, async (page) => {
      const rows = page.getByRole("row");
      assert.match(await rows.nth(1).innerText(), /newly failing/);
      await page.getByRole("link", { name: /what changed/ }).waitFor();
      await page.getByRole("link", { name: /Swap/ }).click();
      await page.getByText("newly passing", { exact: true }).first().waitFor();
      await page.goto(`${base}compare?base=${old}&head=${ofAll?.id}`);
      await page.getByRole("combobox", { name: "Show" }).selectOption({ label: "Cannot decide" });
      await page.getByRole("row", { name: /^An emergency is tagged as one.*not run.*added.*Cannot decide/ }).waitFor();
    });
  });

  test("two attempts of a test are shown together, up to where they differ", async () => {
    const { agentTestExecutions } = await gateway.ask<{ agentTestExecutions: { nodes: { id: string }[] } }>(
      `{ agentTestExecutions(agentId: "${agent("Clinic reception")}") { nodes { id } } }`,
    );
    const [head, old] = agentTestExecutions.nodes.slice(-2).map((execution) => execution.id);
    await visit(`compare?base=${old}&head=${head}`, async (page, watched) => {
      await page.getByRole("row", { name: /Says where to park/ }).getByRole("link", { name: "Side by side" }).click();
      await page.getByText("The same up to message 2, where they differ.").waitFor();
      await page.locator("#left-2 mark", { hasText: "behind the building" }).waitFor();
      await page.locator("#right-2").waitFor();
      await page.getByRole("row", { name: /says "behind the building".*Passed.*Failed/ }).waitFor();
      watched.check(3);
      await watched.checkAccessible();
      await page.getByRole("link", { name: "Attempt 1" }).last().click();
      await page.getByRole("combobox", { name: "Compare with" }).selectOption({ index: 1 });
      await page.getByText("The transcripts are identical.").waitFor();
    });
  });

  test("on a telephone the names of tests stay beside the attempts that are scrolled to", () =>
    visit(`tests?agent=${agent("Clinic reception")}`, async (page) => {
      await page.setViewportSize({ width: 320, height: 700 });
      const name = page.getByRole("rowheader", { name: /^Says where to park/ });
      await name.waitFor();
      const last = page.getByRole("row", { name: /^Select Says where to park|Says where to park/ }).locator("[data-cell]").last();
      await last.focus();
      const [left, right] = [await name.boundingBox(), await last.boundingBox()];
      assert.ok(left && right && left.x >= 0 && left.x + left.width <= right.x + 1, "the name covers nothing, and is seen");
      assert.ok(right.x + right.width <= 320, "the last attempt is seen");
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320, "the page itself does not scroll sideways");
    }));

  test("a run tells what the model was given", async () => {
    const { agentTestRuns } = await gateway.ask<{ agentTestRuns: { nodes: { id: string }[] } }>(`{ agentTestRuns(status: Failed, first: 1) { nodes { id } } }`);
    await visit(`runs/${agentTestRuns.nodes[0]?.id}`, async (page, { check, checkAccessible }) => {
      await page.getByText("Model input").waitFor();
      check(3);
      await page.getByText("Model input").click();
      await page.locator("details pre", { hasText: "You are" }).first().waitFor();
      await checkAccessible();
    });
  });

  test("an unsaved prompt is tested, and turns a red test green", () =>
    visit(`agents/${agent("Clinic reception")}`, async (page, { checkAccessible }) => {
      const prompt = page.getByRole("textbox", { name: "Prompt" });
      await prompt.fill(`${await prompt.inputValue()}\n\n# Getting here\n- Cars park free of charge behind the building for two hours.`);
      await page.getByRole("button", { name: "Test draft" }).click();
      await page.getByRole("heading", { level: 1, name: "Clinic reception" }).waitFor();
      await page.getByRole("region", { name: "Tests", exact: true }).getByText("Draft").waitFor();
      await page.getByRole("row", { name: /Says where to park.*3\/3/ }).waitFor({ timeout: 60_000 });
      await checkAccessible();
      await page.getByRole("row", { name: /Says where to park/ }).locator("[data-cell]").first().click();
      await page.getByRole("heading", { level: 1, name: /^Says where to park/ }).waitFor();
      await page.getByText("Draft", { exact: true }).waitFor();
      const { agent: saved } = await gateway.ask<{ agent: { promptVersion: number } }>(`{ agent(id: "${agent("Clinic reception")}") { promptVersion } }`);
      assert.equal(saved.promptVersion, 2, "nothing was saved");
    }));

  test("a failed run is talked on from", async () => {
    const { agentTestRuns } = await gateway.ask<{ agentTestRuns: { nodes: { id: string; testName: string; messages: { text: string }[] }[] } }>(
      "{ agentTestRuns(status: Failed, first: 100) { nodes { id testName messages { text } } } }",
    );
    const run = agentTestRuns.nodes.find((each) => each.testName.startsWith("Says where to park"));
    assert.ok(run);
    await visit(`runs/${run.id}`, async (page, { checkAccessible }) => {
      await page.getByRole("link", { name: "Continue this chat" }).click();
      await page.getByLabel("Continue after message").selectOption({ index: 1 });
      assert.notEqual(await page.getByLabel("clinicName").inputValue(), "", "the test's values for the contact are filled in");
      await checkAccessible();
      await page.getByRole("button", { name: "Start chat" }).click();
      await page.getByRole("heading", { level: 1, name: "Clinic reception" }).waitFor();
      assert.equal(await page.getByRole("log").getByRole("article").count(), 3);
      await page.getByText(run.messages[1]?.text ?? "?").waitFor();
    });
  });

  test("a test says what is in its way, and neither it nor its folder is lost to somebody else's", () =>
    visit(`agents/${agent("Clinic reception")}`, async (page, { checkAccessible }) => {
      await page.getByRole("navigation", { name: "Agent" }).getByRole("link", { name: /^Tests / }).click();
      await page.getByRole("button", { name: "New test" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name", { exact: true }).fill("Says hello");
      await dialog.getByLabel("Scenario").fill("says: Hello");
      await dialog.getByLabel(/^Criteria, one per line/).fill('says "hello"');
      await dialog.getByLabel("Folder").selectOption({ label: "Getting here" });
      await dialog.getByRole("button", { name: "Create test" }).click();
      await dialog.getByText(/mandatory field "clinicName"/).waitFor();
      await checkAccessible();
      await dialog.getByLabel("clinicName (required)").fill("Harbour Street");
      await dialog.getByLabel("Folder").selectOption({ label: "No folder" });
      const testId = new URL(page.url()).searchParams.get("edit");
      await gateway.ask("mutation($input: UpdateAgentTestInput!) { updateAgentTest(input: $input) { agentTest { id } } }", { input: { testId, maxTurns: 7 } });
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByRole("alert").getByText("Somebody else changed this test").waitFor();
      await dialog.getByRole("alert").getByText("7").waitFor();
      assert.equal(await dialog.getByLabel("clinicName (required)").inputValue(), "Harbour Street", "what was written stays");
      await dialog.getByRole("button", { name: "Overwrite with mine" }).click();
      await dialog.waitFor({ state: "detached" });
      const { agentTest } = await gateway.ask<{ agentTest: object }>(`{ agentTest(id: "${testId}") { folderId obstacles ... on SimulationTest { maxTurns } } }`);
      assert.deepEqual(agentTest, { folderId: null, obstacles: [], maxTurns: 7 });

      await page.getByRole("button", { name: "Edit the folder Getting here" }).click();
      await dialog.getByLabel("Name", { exact: true }).fill("Mine");
      const { agent: found } = await gateway.ask<{ agent: { testFolders: { id: string; name: string }[] } }>(
        `{ agent(id: "${agent("Clinic reception")}") { testFolders { id name } } }`,
      );
      await gateway.ask("mutation($input: UpdateAgentTestFolderInput!) { updateAgentTestFolder(input: $input) { folder { id } } }", {
        input: { folderId: found.testFolders.find((folder) => folder.name === "Getting here")?.id, body: "By car and by bus." },
      });
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByRole("alert").getByText("By car and by bus.").waitFor();
      await dialog.getByRole("button", { name: "Take theirs" }).click();
      assert.equal(await dialog.getByLabel("Name", { exact: true }).inputValue(), "Getting here");
      assert.equal(await dialog.getByLabel("Description").inputValue(), "By car and by bus.");
    }));

  test("a check takes the place of a criterion that needs no judge", async () => {
    const { createSimulationTest } = await gateway.ask<{ createSimulationTest: { agentTest: { id: string } } }>(
      "mutation ($input: CreateSimulationTestInput!) { createSimulationTest(input: $input) { agentTest { id } } }",
      { input: { agentId: agent("Card support"), name: "Closes politely", scenario: "You lost your card.", criteria: ['works the words "all the best" into the answer', "is polite"] } },
    );
    const { id } = createSimulationTest.agentTest;
    await visit(`tests?agent=${agent("Card support")}&edit=${id}`, async (page, { checkAccessible }) => {
      const editor = page.getByRole("dialog", { name: "Edit test" });
      await editor.getByText('This check needs no judge: says "all the best"').waitFor();
      await checkAccessible();
      await editor.getByRole("button", { name: "Use the check" }).click();
      await editor.getByText("This check needs no judge").waitFor({ state: "detached" });
      assert.equal(await editor.getByLabel("Criteria, one per line").inputValue(), "is polite");
      assert.equal(await editor.getByLabel("Check 1: Text").inputValue(), "all the best");
      await editor.getByRole("button", { name: "Save" }).click();
      await editor.waitFor({ state: "detached" });
    });
    const { agentTest } = await gateway.ask<{ agentTest: { criteria: string[]; checks: { description: string }[] } }>(
      "query ($id: ID!) { agentTest(id: $id) { ... on SimulationTest { criteria checks { description } } } }", { id });
    assert.deepEqual(agentTest, { criteria: ["is polite"], checks: [{ description: 'says "all the best"' }] });
    await gateway.ask("mutation ($id: ID!) { deleteAgentTest(input: { testId: $id }) { deletedId } }", { id });
  });

  test("an agent's tests are run from its page, and a long execution is cancelled", () =>
    visit(`agents/${agent("Clinic reception")}`, async (page) => {
      await page.getByRole("button", { name: "Run tests" }).click();
      await page.waitForURL(/\/tests\?execution=/);
      const before = page.url();
      // While the new execution loads, the page never shows the button of the previous one.
      await page.route("**/graphql", async (route) => {
        if (route.request().postData()?.includes("query Matrix")) await wait(500);
        await route.continue();
      });
      await page.getByRole("combobox", { name: "Attempts of each test" }).selectOption("20");
      await page.getByRole("button", { name: "Run all" }).click();
      await page.waitForURL((url) => url.href !== before);
      await page.getByRole("button", { name: "Stop", exact: true }).click();
      await page.getByText(/\d+ canceled/).waitFor();
      await page.getByRole("button", { name: "Retry not passed" }).waitFor();
    }));

  test("a schedule repeats tests until they are decided, and is changed to all attempts", () =>
    visit(`schedules?agent=${agent("Clinic reception")}`, async (page) => {
      const dialog = page.getByRole("dialog");
      await page.getByRole("button", { name: "New schedule" }).click();
      await dialog.getByLabel("Name", { exact: true }).fill("Until decided");
      await dialog.getByLabel("Runs of each test").fill("20");
      await dialog.getByLabel("Repeat", { exact: true }).selectOption("decided");
      await dialog.getByLabel("Pass rate of a good test").fill("0.4");
      await dialog.getByRole("button", { name: "Create schedule" }).click();
      await dialog.getByLabel("Pass rate of a good test").and(page.locator("[aria-invalid=true]")).waitFor();
      await dialog.getByLabel("Pass rate of a good test").fill("0.95");
      await dialog.getByRole("button", { name: "Create schedule" }).click();
      await page.getByText("× 20 at most, until a pass rate of 0.95 is likelier than 0.5").waitFor();
      await page.getByRole("button", { name: "Edit Until decided" }).click();
      assert.equal(await dialog.getByLabel("Pass rate of a good test").inputValue(), "0.95");
      await dialog.getByLabel("Repeat", { exact: true }).selectOption("all");
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByRole("row", { name: /Until decided/ }).getByText(/× 20$/).waitFor();
    }));

  test("tests are repeated until one fails", () =>
    visit(`tests?agent=${agent("Clinic reception")}`, async (page) => {
      await page.getByRole("combobox", { name: "Stop repeating a test" }).selectOption("failed");
      await page.getByRole("button", { name: "Run all" }).click();
      await page.waitForURL(/execution=/);
      await page.getByRole("button", { name: "Retry not passed" }).waitFor({ timeout: 60_000 });
      const { agentTestExecution } = await gateway.ask<{ agentTestExecution: { stopRepeating: object | null; counts: { failed: number; skipped: number } } }>(
        `{ agentTestExecution(id: "${new URL(page.url()).searchParams.get("execution")}") { stopRepeating { good bad } counts { failed skipped } } }`,
      );
      assert.ok(agentTestExecution.stopRepeating);
      assert.ok(agentTestExecution.counts.failed > 0);
    }));

  test("an agent with hundreds of tests counts all of them, and all that failed can be reached", async () => {
    const { createAgent } = await gateway.ask<{ createAgent: { agent: { id: string } } }>(
      `mutation { createAgent(input: { name: "Large", channel: Web, direction: Inbound, language: "en", prompt: "Be brief." }) { agent { id } } }`,
    );
    const agentId = createAgent.agent.id;
    const { createAgentTestFolder } = await gateway.ask<{ createAgentTestFolder: { folder: { id: string } } }>(
      "mutation($input: CreateAgentTestFolderInput!) { createAgentTestFolder(input: $input) { folder { id } } }",
      { input: { agentId, name: "Regression" } },
    );
    const folderId = createAgentTestFolder.folder.id;
    const create = (name: string) =>
      gateway.ask("mutation($input: CreateSimulationTestInput!) { createSimulationTest(input: $input) { agentTest { id } } }", {
        input: { agentId, folderId, name, scenario: "says: Hello", criteria: ['says "never said"'], maxTurns: 1 },
      });
    await create("Red for long");
    const { startAgentTestExecution } = await gateway.ask<{ startAgentTestExecution: { execution: { id: string } } }>(
      "mutation($input: StartAgentTestExecutionInput!) { startAgentTestExecution(input: $input) { execution { id } } }",
      { input: { agentId, repeats: 1 } },
    );
    const isOver = async () => {
      const { agentTestExecution } = await gateway.ask<{ agentTestExecution: { finishedAt: string | null } }>(
        `{ agentTestExecution(id: "${startAgentTestExecution.execution.id}") { finishedAt } }`,
      );
      return agentTestExecution.finishedAt;
    };
    while (!(await isOver())) await wait(50);
    for (let n = 1; n <= 210; n++) await create(`Test ${n}`);
    await visit(`tests?agent=${agentId}`, async (page, { checkAccessible }) => {
      await page.getByRole("rowheader", { name: "Regression 211" }).waitFor();
      await page.getByText("The newest 100 of 211 tests").waitFor();
      assert.equal(await page.getByRole("checkbox", { name: /^Select / }).count(), 100);
      await page.getByRole("button", { name: "Show more" }).click();
      await page.getByText("The newest 200 of 211 tests").waitFor();
      await checkAccessible();
      await page.getByRole("button", { name: "Show more" }).click();
      await page.getByRole("rowheader", { name: /Red for long/ }).waitFor();
      assert.equal(await page.getByRole("checkbox", { name: /^Select / }).count(), 211);
      assert.equal(await page.getByRole("button", { name: "Show more" }).count(), 0);
      await page.goto(`${base}tests?agent=${agentId}`);
      await page.getByText("The newest 100 of 211 tests").waitFor();
      await page.getByRole("button", { name: "Failing" }).click();
      await page.getByRole("rowheader", { name: /Red for long/ }).waitFor();
      await page.getByRole("rowheader", { name: /^Regression 1\s*Edit/ }).waitFor();
      await page.goto(`${base}agents/${agentId}`);
      const panel = page.getByRole("complementary", { name: "Tests and fields" });
      await panel.getByText("of 211 pass").waitFor();
      await panel.getByRole("link", { name: "Red for long" }).waitFor();
      await panel.getByRole("link", { name: "All failures" }).waitFor({ state: "detached" });
    });
  });
});
