// Journeys of developers in the API explorer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { journeys, visit } from "./journey";

journeys("the explorer", () => {
  test("the explorer runs an example and a subscription, with the console's session", () =>
    visit("agents", async (page, watched) => {
      await page.getByRole("link", { name: "API" }).click();
      await page.getByRole("heading", { name: "API explorer" }).waitFor();
      await page.getByRole("button", { name: "Delegation between agents" }).click();
      await page.keyboard.press("Control+Enter");
      const answer = page.locator(".graphiql-response");
      await answer.getByText('"Clinic reception"').or(answer.getByText('"totalCount"')).first().waitFor();
      await page.getByText(/^200 in \d+ ms/).waitFor();
      await page.getByRole("button", { name: "Follow a campaign's contacts" }).click();
      await page.keyboard.press("Control+Enter");
      await answer.getByText('"campaignItemUpdated"').waitFor();
      await page.getByRole("button", { name: "Stop query" }).click();
      // Schema descriptions become HTML, which the policy allows only one function to write.
      await page.getByRole("button", { name: "Show Documentation Explorer" }).click();
      await page.getByRole("link", { name: "Query", exact: true }).first().click();
      await page.locator(".graphiql-markdown-description").first().waitFor();
      assert.doesNotMatch(await page.evaluate(() => JSON.stringify(localStorage)), /Bearer|eyJ/);
      watched.check();
    }));

  test("a page's own operation opens there, with its variables", () =>
    visit("agents?channel=Phone", async (page, { check }) => {
      await page.getByRole("main").locator("summary").click();
      await page.getByRole("main").getByRole("link", { name: "Agents", exact: true }).click();
      await page.getByRole("heading", { name: "API explorer" }).waitFor();
      assert.equal(new URL(page.url()).hash, "");
      await page.getByText("query Agents(").first().waitFor();
      await page.getByText('"Phone"').first().waitFor();
      await page.locator(".graphiql-query-editor .view-line").first().click();
      await page.keyboard.press("Control+Enter");
      await page.locator(".graphiql-response").getByText('"agentTags"').first().waitFor();
      await page.goBack();
      await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
      check();
    }));
});
