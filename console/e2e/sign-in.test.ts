// Signing in, scopes, and the end of a session.
import assert from "node:assert/strict";
import { test } from "node:test";
import { watch } from "./browser";
import { agent, base, browser, context, gateway, journeys, newKey, signIn, signOut, visit } from "./journey";
import { startProxy } from "./proxy";

journeys("signing in", () => {
  test("a code signs in once, a second tab by the first, others by a key", async () => {
    const first = await watch(context, new URL(base).origin);
    await first.page.goto(gateway.consoleUrl);
    await first.page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
    assert.equal(new URL(first.page.url()).hash, "");

    const second = await watch(context, new URL(base).origin);
    await second.page.goto(`${base}tests`);
    await second.page.getByRole("link", { name: "Clinic reception" }).waitFor();
    second.check(3);
    await second.page.close();

    const stranger = await browser.newContext();
    const other = await watch(stranger, new URL(base).origin, [/410/, /401/]);
    await other.page.goto(gateway.consoleUrl);
    await other.page.getByText("This link was already used").waitFor();
    await other.page.getByLabel("API key").fill("ag_wrong");
    await other.page.getByRole("button", { name: "Sign in" }).click();
    await other.page.getByRole("alert").waitFor();
    const { secret } = await newKey(["read"]);
    await signIn(other.page, secret);
    await other.page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Agents" }).click();
    assert.ok(await other.page.getByRole("button", { name: /New agent/ }).isDisabled());
    await other.page.getByRole("link", { name: "Clinic reception" }).first().click();
    assert.ok(!(await other.page.getByLabel("Prompt", { exact: true }).isEditable()));
    await signOut(other.page);

    await signIn(other.page, (await newKey(["browse"])).secret);
    const asked = other.page.waitForRequest((request) => request.headers().authorization !== undefined);
    await other.page.goto(`${base}agents/${agent("Clinic reception")}`);
    const { authorization = "" } = (await asked).headers();
    await other.page.getByText("your key lacks the scope prompts").waitFor();
    await other.page.goto(`${base}consumption`);
    await other.page.getByText("Your key lacks the scope consumption").waitFor();
    await signOut(other.page);
    // The gateway remembers a credential for a moment.
    const query = JSON.stringify({ query: "{ viewer { scopes } }" });
    while ((await fetch(gateway.graphqlUrl, { method: "POST", headers: { "Content-Type": "application/json", Authorization: authorization }, body: query })).ok) {
      await other.page.waitForTimeout(100);
    }
    other.check();
    await stranger.close();
    first.check();
  });

  test("a key is made and revoked, and its session ends over what is being written", async () => {
    await visit("keys", async (page, { checkAccessible }) => {
      await page.getByLabel("API key").fill(gateway.apiKey);
      await page.getByRole("button", { name: "Show keys" }).click();
      await page.getByRole("button", { name: "New key" }).click();
      await page.getByLabel("Name").fill("From the console");
      await page.getByRole("checkbox", { name: /^chat / }).check();
      assert.ok(!(await page.getByRole("checkbox", { name: /^read / }).isChecked()), "chat cannot be combined");
      await page.getByRole("checkbox", { name: /^contacts / }).check();
      assert.ok(!(await page.getByRole("checkbox", { name: /^chat / }).isChecked()));
      await page.getByLabel("Confirm with your API key").fill(gateway.apiKey);
      await page.getByRole("button", { name: "Create key" }).click();
      assert.match(await page.locator("[data-secret]").innerText(), /^ag_/);
      // A browser closes a dialog on the second Escape.
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "I have saved it" }).click();
      await page.getByRole("button", { name: "Revoke From the console" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Revoke key" }).click();
      await page.getByRole("row", { name: /From the console.*contacts.*revoked/ }).waitFor();

      await page.getByRole("button", { name: "Short-lived token" }).click();
      await checkAccessible();
      await page.getByRole("checkbox", { name: /^simulate / }).check();
      await page.getByLabel("Confirm with your API key").fill(gateway.apiKey);
      await page.getByRole("button", { name: "Create token" }).click();
      const token = await page.locator("[data-secret]").innerText();
      const answer = await fetch(gateway.graphqlUrl, {
        method: "POST",
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
        body: JSON.stringify({ query: "{ viewer { scopes isAccessToken } }" }),
      });
      assert.deepEqual(await answer.json(), { data: { viewer: { scopes: ["read", "simulate"], isAccessToken: true } } });
    });

    const own = await browser.newContext();
    const { page, check } = await watch(own, new URL(base).origin, [/401/]);
    const key = await newKey(["read", "write"]);
    await page.goto(`${base}agents/${agent("Card support")}`);
    await signIn(page, key.secret);
    await page.getByRole("textbox", { name: "Prompt" }).fill("What I was writing.");
    await gateway.ask("mutation($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { apiKey { id } } }", { input: { apiKeyId: key.id } });
    // The gateway remembers a credential for a moment, so the test tries until it is refused.
    await assert.doesNotReject(async () => {
      while (!(await page.getByText("Your session has ended").isVisible())) {
        await page.getByRole("button", { name: /^Save as/ }).click({ timeout: 1_000 }).catch(() => undefined);
        await page.getByRole("textbox", { name: "Prompt" }).fill("What I was writing.", { timeout: 1_000 }).catch(() => undefined);
      }
    });
    await signIn(page, (await newKey(["read", "write"])).secret);
    assert.equal(await page.getByRole("textbox", { name: "Prompt" }).inputValue(), "What I was writing.");
    check();
    await own.close();
  });

  test("a scope that the key lacks is named once, quietly", async () => {
    const own = await browser.newContext();
    const { page, check } = await watch(own, new URL(base).origin);
    const key = await newKey(["browse"]);
    await page.goto(`${base}consumption`);
    await signIn(page, key.secret);
    await page.getByText("Your key lacks the scope consumption, which this needs.").waitFor();
    assert.equal(await page.getByText(/scope consumption/).count(), 1);
    assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0);
    assert.equal(await page.getByRole("alert").count(), 0);
    check();
    await own.close();
  });

  test("what is being written stays when the next key may see less", async () => {
    const own = await browser.newContext();
    const { page, check } = await watch(own, new URL(base).origin, [/401/]);
    const key = await newKey(["read", "write"]);
    await page.goto(`${base}agents/${agent("Card support")}/settings`);
    await signIn(page, key.secret);
    const tags = page.getByLabel("Tags, separated by commas");
    await tags.fill("written 0");
    await gateway.ask("mutation($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { apiKey { id } } }", { input: { apiKeyId: key.id } });
    // A text that is saved before the key is refused differs from the text that is written afterwards.
    for (let round = 1; !(await page.getByText("Your session has ended").isVisible()); round++) {
      await page.getByRole("button", { name: "Save settings" }).click({ timeout: 1_000 }).catch(() => undefined);
      await tags.fill(`written ${round}`, { timeout: 1_000 }).catch(() => undefined);
    }
    const written = await tags.inputValue();
    const read = page.waitForResponse((response) => response.request().postData()?.includes('"seesPrompt":false') ?? false);
    await signIn(page, (await newKey(["browse"])).secret);
    await (await read).finished();
    await page.getByRole("button", { name: /^Save settings.*lacks the scope write/ }).waitFor();
    assert.equal(await tags.inputValue(), written);
    check();
    await own.close();
  });

  test("behind a proxy that takes a prefix off", async () => {
    const { url, server } = await startProxy("/tools/ag", Number(new URL(base).port));
    const own = await browser.newContext();
    try {
      const { page, check } = await watch(own, new URL(url).origin, [/401/]);
      await page.goto(`${url}/console/chats/new?agent=${agent("Product help")}`);
      await signIn(page, gateway.apiKey);
      await page.getByLabel("productName").fill("Brook kettle");
      await page.getByRole("button", { name: "Start chat" }).click();
      await page.getByText("Live", { exact: true }).waitFor();
      assert.match(page.url(), /\/tools\/ag\/console\/chats\/simchat_/);
      await page.reload();
      await page.getByRole("heading", { level: 1, name: "Product help" }).waitFor();
      await page.goto(`${url}/graphql`);
      await page.getByRole("link", { name: "console" }).click();
      await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
      check();
    } finally {
      await own.close();
      server.close();
      server.closeAllConnections();
    }
  });
}, { isSignedIn: false });
