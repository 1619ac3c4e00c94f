// Journeys of operators: fill and watch campaigns, and read their cost.
import assert from "node:assert/strict";
import { test } from "node:test";
import { watch } from "./browser";
import { base, browser, gateway, journeys, signIn, visit } from "./journey";

journeys("campaigns and consumption", () => {
  test("a campaign takes its contacts from a file, and reports the lines that are wrong", () =>
    visit("campaigns", async (page, watched) => {
      await page.getByRole("button", { name: "New campaign" }).click();
      await page.getByLabel("Name").fill("Spring");
      await page.getByLabel("Agent", { exact: true }).selectOption({ label: "Fitness club leads (WhatsApp)" });
      await page.getByRole("button", { name: "Create campaign" }).click();
      await page.getByRole("heading", { level: 1, name: "Spring" }).waitFor();
      await page.getByRole("button", { name: "Add contacts" }).click();
      const dialog = page.getByRole("dialog");
      const columns = (await dialog.locator("code").allInnerTexts()).map((text) => text.replace("*", ""));
      const line = (number: string) => [number, ...columns.slice(1).map((column) => `"a, ${column}"`)].join(",");
      const lines = [columns.join(","), ...Array.from({ length: 1_001 }, (_, i) => line(`+44207946${String(i).padStart(4, "0")}`)), line("+12"), line("12"), ",", line("+44 20 7946 0001")];
      await dialog.getByLabel("A CSV file of contacts").setInputFiles({ name: "contacts.csv", mimeType: "text/csv", buffer: Buffer.from(lines.join("\n")) });
      const latin1 = Buffer.from(`${columns.join(",")}\n+442079460000,Jos\u00e9`, "latin1");
      await dialog.getByRole("region", { name: "Preview" }).getByText("a, ").first().waitFor();
      await dialog.getByLabel("A CSV file of contacts").setInputFiles({ name: "excel.csv", mimeType: "text/csv", buffer: latin1 });
      await dialog.getByText("Line 2 is not UTF-8.", { exact: false }).waitFor();
      const twice = `sep=;\nphoneNumber;${columns[1]};${columns[1]?.toUpperCase()}\n+442079460000;a;b`;
      await dialog.getByLabel("A CSV file of contacts").setInputFiles({ name: "twice.csv", mimeType: "text/csv", buffer: Buffer.from(twice) });
      await dialog.getByText("Rename or delete one of them.", { exact: false }).waitFor();
      await dialog.getByLabel("A CSV file of contacts").setInputFiles({ name: "contacts.csv", mimeType: "text/csv", buffer: Buffer.from(lines.join("\n")) });
      await dialog.getByText("line 1004: phoneNumber must begin with + and the country code: 12").waitFor();
      await dialog.getByRole("button", { name: "Add the other 1,003 contacts" }).click();
      await dialog.getByText("1,000 contacts added.").waitFor();
      await dialog.getByText(/line 1003: phoneNumber must be a valid phone number/).waitFor();
      await watched.checkAccessible();
      await dialog.getByRole("button", { name: "Add the other 2 contacts" }).click();
      await dialog.getByText("1,001 contacts added.").waitFor();
      await dialog.getByText("line 1006: same number as a contact who is waiting for a call").waitFor();
      await dialog.getByRole("button", { name: "Done" }).click();
      await page.getByText("1,001 contacts", { exact: true }).waitFor();
    }));

  test("an import can be stopped, and is not left by accident", () =>
    visit("campaigns?new=campaign", async (page, watched) => {
      await page.getByLabel("Name").fill("Stopped");
      await page.getByLabel("Agent", { exact: true }).selectOption({ label: "Fitness club leads (WhatsApp)" });
      await page.getByRole("button", { name: "Create campaign" }).click();
      await page.getByRole("button", { name: "Add contacts" }).click();
      const dialog = page.getByRole("dialog", { name: "Add contacts to Stopped" });
      const columns = (await dialog.locator("code").allInnerTexts()).map((text) => text.replace("*", ""));
      const lines = Array.from({ length: 3_000 }, (_, i) => [`+44207947${String(i).padStart(4, "0")}`, ...columns.slice(1).map(() => "a")].join(","));
      await dialog.getByLabel("A CSV file of contacts").setInputFiles({ name: "c.csv", mimeType: "text/csv", buffer: Buffer.from([columns.join(","), ...lines].join("\n")) });
      // The second page waits until the import was stopped.
      let goOn = () => {};
      const stopped = new Promise<void>((resolve) => (goOn = resolve));
      let pages = 0;
      await page.route(/graphql/, async (route) => {
        if (route.request().postData()?.includes("mutation AddContacts") && ++pages === 2) await stopped;
        await route.continue();
      });
      await dialog.getByRole("button", { name: "Add 3,000 contacts" }).click();
      await dialog.getByText("1,000 of 3,000 contacts").waitFor();
      const asked = page.waitForEvent("dialog");
      void page.evaluate(() => location.reload());
      await (await asked).dismiss();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog", { name: "Stop adding contacts?" }).getByRole("button", { name: "Stop" }).click();
      goOn();
      await dialog.getByText("2,000 contacts added. To add the others later, import the file again").waitFor();
      await dialog.getByRole("button", { name: "Add the other 1,000 contacts" }).waitFor();
      await watched.checkAccessible();
      await page.keyboard.press("Escape");
      await page.getByText("2,000 contacts", { exact: true }).waitFor();
      assert.equal(pages, 2);
    }));

  test("starting asks once how many people are called, and a second click completes nothing", () =>
    visit("campaigns?new=campaign", async (page) => {
      await page.getByLabel("Name").fill("Two people");
      await page.getByLabel("Agent", { exact: true }).selectOption({ label: "Fitness club leads (WhatsApp)" });
      await page.getByRole("button", { name: "Create campaign" }).click();
      await page.getByRole("heading", { level: 1, name: "Two people" }).waitFor();
      const start = page.getByRole("button", { name: "Start" });
      assert.ok(await start.isDisabled(), "a campaign without contacts cannot be started");
      assert.match((await start.getAttribute("title")) ?? "", /Add contacts/);
      const { campaign } = await gateway.ask<{ campaign: { id: string; fields: { name: string }[] } }>(
        "query($id: ID!) { campaign(id: $id) { id fields { name } } }",
        { id: page.url().split("/").at(-1)?.split("?")[0] },
      );
      const dataBag = Object.fromEntries(campaign.fields.map((field) => [field.name, "known"]));
      await gateway.ask("mutation($input: AddCampaignItemsInput!) { addCampaignItems(input: $input) { items { id } } }", {
        input: { campaignId: campaign.id, items: ["+442079460801", "+442079460802"].map((phoneNumber) => ({ phoneNumber, dataBag })) },
      });
      await page.getByText("2 contacts", { exact: true }).waitFor();
      const dialog = page.getByRole("dialog");
      const place = await start.boundingBox();
      assert.ok(place);
      await start.click();
      await dialog.getByText(/2 people will be called/).waitFor();
      await dialog.getByRole("button", { name: "Start calling" }).click();
      await page.getByRole("button", { name: "Pause" }).waitFor();
      // A second click at the same place does not complete the campaign without a confirmation.
      await page.mouse.click(place.x + place.width / 2, place.y + place.height / 2);
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Complete" }).click();
      await dialog.getByText(/2 people will not be called/).waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).click();
      const read = await gateway.ask<{ campaign: { status: string } }>("query($id: ID!) { campaign(id: $id) { status } }", { id: campaign.id });
      assert.notEqual(read.campaign.status, "Completed");
      await page.getByRole("button", { name: "Archive" }).click();
      await dialog.getByRole("button", { name: "Archive campaign" }).click();
      await page.getByText("Archived").first().waitFor();
    }));

  test("a campaign is watched while its contacts are called", async () => {
    const { campaignId, itemId, move } = await runningItem("+442079460123");
    await visit(`campaigns/${campaignId}?item=${itemId}`, async (page) => {
      const bar = page.getByText(/ processed/).first();
      const before = await bar.innerText();
      await page.getByRole("dialog").getByText("Pending").waitFor();
      await page.getByText("Live", { exact: true }).waitFor();
      await move("Calling");
      await page.getByRole("dialog").getByText("Calling").waitFor();
      await page.getByRole("dialog").getByText(/Attempt 1 of \d+ began/).waitFor();
      await page.getByRole("button", { name: "Close" }).click();
      await page.waitForFunction((text) => !document.body.innerText.includes(text), before);

      const set = (status: string) =>
        gateway.ask("mutation($input: UpdateCampaignInput!) { updateCampaign(input: $input) { campaign { id } } }", { input: { campaignId, status } });
      await set("Paused");
      await page.getByRole("button", { name: "Resume" }).waitFor();
      await page.getByRole("button", { name: "Resume" }).click();
      await page.getByRole("dialog").getByRole("button", { name: /^Start/ }).click();
      await page.getByRole("button", { name: "Pause" }).waitFor();
      const contacts = await page.getByText(/^\d+ contacts$/).innerText();
      await runningItem("+442079460124");
      await page.getByText(`${Number.parseInt(contacts) + 1} contacts`, { exact: true }).waitFor();
      await page.getByRole("searchbox", { name: "Number begins with" }).fill("+44 2079 460124");
      await page.keyboard.press("Enter");
      await page.getByText("1 contact", { exact: true }).waitFor();
      await move("Error", { reason: "The provider answered 503." });
      await page.getByRole("searchbox", { name: "Number begins with" }).fill("+44 2079 460123");
      await page.keyboard.press("Enter");
      await page.setViewportSize({ width: 390, height: 844 });
      const cell = page.getByRole("cell", { name: "The provider answered 503." });
      const reason = (await cell.getByText("The provider answered 503.").and(page.locator(".narrow *")).boundingBox())!;
      const pill = (await cell.getByText("Error", { exact: true }).boundingBox())!;
      assert.ok(reason.y >= pill.y + pill.height);
    });
    await visit("campaigns", async (page) => {
      await page.getByText("Live", { exact: true }).waitFor();
      const bar = page.getByRole("row", { name: /Travel cover renewals/ });
      const before = await bar.innerText();
      await (await runningItem("+442079460125")).move("Calling");
      await page.waitForFunction((text) => !document.querySelector("table")?.innerText.includes(text), before.split("\n").at(-1) ?? "");
    });
  });

  test("a contact with changes that the user has not seen is not called again", async () => {
    const { campaignId, itemId, move } = await runningItem("+442079460126");
    await move("Calling");
    const quiet = await browser.newContext();
    const { page, check, checkAccessible } = await watch(quiet, new URL(base).origin);
    // Without its socket the page does not receive others' changes.
    await page.routeWebSocket(/graphql/, () => undefined);
    await page.goto(base);
    await signIn(page, gateway.apiKey);
    await page.goto(`${base}campaigns/${campaignId}?item=${itemId}`);
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Calling").waitFor();
    await move("Error", { reason: "The provider answered 503." });
    await dialog.getByRole("button", { name: "Call again from the start" }).click();
    await dialog.getByText("This contact has changed since you opened it.", { exact: false }).waitFor();
    await dialog.getByText("The provider answered 503.").first().waitFor();
    await checkAccessible();
    await dialog.getByRole("button", { name: "Call again anyway" }).click();
    await dialog.getByText("Pending").waitFor();
    assert.equal(await dialog.getByRole("alert").count(), 0);
    check();
    await quiet.close();
  });

  test("the parts of the consumption are the whole, and the ledger can be saved", () =>
    visit("consumption", async (page, { checkAccessible }) => {
      await page.getByRole("heading", { name: "By month" }).waitFor();
      await page.getByRole("button", { name: "This month" }).click();
      await page.getByRole("heading", { name: "By day" }).waitFor();
      assert.equal(await page.getByText("The parts do not add up").count(), 0);
      await page.getByRole("group", { name: /^Credits per day/ }).focus();
      await page.keyboard.press("ArrowLeft");
      await page.getByRole("main").getByRole("status").getByText("WhatsApp").waitFor();
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: "CSV" }).click();
      assert.match((await download).suggestedFilename(), /^consumption-.*\.csv$/);
      await page.goto(`${base}consumption?from=2026-11-30&to=2026-11-01`);
      await page.getByText("The first day is after the last one.").waitFor();
      await checkAccessible();
    }));
});

/** A new contact of the demo's running campaign, and a function that moves it as a dialer does. */
async function runningItem(phoneNumber: string) {
  const { campaigns } = await gateway.ask<{ campaigns: { nodes: { id: string; fields: { name: string; isMandatory: boolean }[] }[] } }>(
    "{ campaigns(filter: { statuses: [Running] }) { nodes { id fields { name isMandatory } } } }",
  );
  const [campaign] = campaigns.nodes;
  const campaignId = campaign?.id;
  const dataBag = Object.fromEntries(campaign?.fields.filter((field) => field.isMandatory).map((field) => [field.name, "2026-12-01"]) ?? []);
  const added = await gateway.ask<{ addCampaignItems: { items: { id: string }[] } }>(
    "mutation($input: AddCampaignItemsInput!) { addCampaignItems(input: $input) { items { id } } }",
    { input: { campaignId, items: [{ phoneNumber, dataBag }] } },
  );
  const itemId = added.addCampaignItems.items[0]?.id;
  const move = (to: string, more = {}) =>
    gateway.ask("mutation($input: AdvanceCampaignItemInput!) { advanceCampaignItem(input: $input) { item { id } } }", { input: { campaignId, itemId, to, ...more } });
  return { campaignId, itemId, move };
}
