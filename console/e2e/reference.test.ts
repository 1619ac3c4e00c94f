// Journeys of developers on the page of the REST API.
import assert from "node:assert/strict";
import { test } from "node:test";
import { watch } from "./browser";
import { browser, gateway, journeys } from "./journey";

journeys("the REST reference", () => {
  for (const colorScheme of ["light", "dark"] as const) {
    test(`an operation is found, shown with curl, and tried, ${colorScheme}`, async () => {
      const context = await browser.newContext({ colorScheme });
      const origin = new URL(gateway.graphqlUrl).origin;
      const { page, check } = await watch(context, origin);
      await page.goto(`${origin}/docs`);
      await page.locator("#overview").getByText("agentgraph REST").waitFor();

      await page.getByPlaceholder("Filter").fill("dataset");
      await page.keyboard.press("Enter");
      await page.locator("#link-get-\\/AgentTest").waitFor({ state: "detached" });
      await page.locator("#link-get-\\/Dataset").click();
      const operation = page.locator("#get-\\/Dataset");
      await operation.getByText(`curl -X GET "${origin}/Dataset"`).waitFor();

      await page.getByText("Authentication", { exact: true }).first().click();
      const key = page.locator("#auth");
      await key.locator("[id$=ApiKey-api-key-input]").fill(gateway.apiKey);
      await key.locator("[id$=ApiKey-api-key-input] + button").click();
      await page.locator("#link-get-\\/Dataset").click();
      const answered = page.waitForResponse((response) => new URL(response.url()).pathname === "/Dataset");
      await operation.getByRole("button", { name: "TRY" }).click();
      assert.equal((await answered).status(), 200);
      await operation.getByText("Merrowby").first().waitFor();
      assert.equal(await page.evaluate(() => localStorage.length + sessionStorage.length), 0, "the key is kept nowhere");
      check();
      await context.close();
    });
  }

  test("a phone gets a list of operations", async () => {
    const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
    const origin = new URL(gateway.graphqlUrl).origin;
    const { page, check } = await watch(context, origin);
    await page.goto(`${origin}/docs`);
    await page.getByText("/Dataset/{datasetId}", { exact: true }).first().waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    check();
    await context.close();
  });

  test("without JavaScript the page names the documents", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${new URL(gateway.graphqlUrl).origin}/docs`);
    await page.getByRole("link", { name: "openapi.json" }).click();
    assert.match(await page.locator("body").innerText(), /"openapi":/);
    await context.close();
  });
});
