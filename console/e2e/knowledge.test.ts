// Journeys with knowledge: add documents, ask, and change retrieval.
import assert from "node:assert/strict";
import { test } from "node:test";
import { gateway, journeys, visit } from "./journey";

journeys("knowledge", () => {
  test("files are uploaded, one is refused, and a question with a typing error finds them", async () => {
    const { datasets } = await gateway.ask<{ datasets: { nodes: { id: string; name: string }[] } }>("{ datasets { nodes { id name } } }");
    const manuals = datasets.nodes.find((set) => set.name.includes("manuals"));
    await visit(`knowledge/datasets/${manuals?.id}`, async (page) => {
      await page.getByLabel("Documents", { exact: true }).setInputFiles([
        { name: "toaster.md", mimeType: "text/markdown", buffer: Buffer.from("# Toaster\n\nThe crumb tray of the toaster slides out at the back.") },
        { name: "iron.txt", mimeType: "text/plain", buffer: Buffer.from("The steam iron takes distilled water only.") },
        { name: "empty.txt", mimeType: "text/plain", buffer: Buffer.alloc(0) },
      ]);
      await page.getByRole("row", { name: /toaster\.md.*Ready/ }).waitFor({ timeout: 20_000 });
      await page.getByRole("row", { name: /iron\.txt.*Ready/ }).waitFor({ timeout: 20_000 });
    });
    const { knowledgeBaseChats } = await gateway.ask<{ knowledgeBaseChats: { nodes: { id: string; name: string }[] } }>("{ knowledgeBaseChats { nodes { id name } } }");
    await visit(`knowledge/chats/${knowledgeBaseChats.nodes.find((chat) => chat.name.includes("manuals"))?.id}`, async (page) => {
      await page.getByLabel("Question from a contact").fill("Does my grandmother get each crumb out of that old toster?");
      await page.getByRole("button", { name: "Ask" }).click();
      await page.getByRole("link", { name: "toaster.md" }).first().waitFor();
      await page.getByText(/crumb \d\.\d\d/).first().waitFor();
      await page.getByLabel("Minimum score").fill("1");
      await page.getByRole("button", { name: "Ask" }).click();
      await page.getByText("Not saved: minimum score 1").waitFor();
      await page.getByRole("list", { name: "Results below the minimum, best first" }).getByRole("link", { name: "toaster.md" }).waitFor();
      await page.getByRole("link", { name: "New chat" }).click();
      await page.getByRole("heading", { level: 1, name: "New chat" }).waitFor();
      await page.getByLabel("productName").waitFor();
    });
  });

  test("documents that come and are indexed elsewhere are seen without asking", async () => {
    const { datasets } = await gateway.ask<{ datasets: { nodes: { id: string; name: string }[] } }>("{ datasets { nodes { id name } } }");
    const prices = datasets.nodes.find((set) => set.name === "Price list");
    await visit(`knowledge/datasets/${prices?.id}`, async (page) => {
      await page.getByText("1 document ·", { exact: false }).waitFor();
      await page.getByText("Live", { exact: true }).waitFor();
      await gateway.ask("mutation($input: AddDocumentInput!) { addDocument(input: $input) { document { id } } }", {
        input: { datasetId: prices?.id, name: "spares.csv", text: "part,price\nlid,9.50\n" },
      });
      await page.getByRole("row", { name: /spares\.csv.*Ready/ }).waitFor();
      await page.getByText("2 documents ·", { exact: false }).waitFor();
      await page.getByRole("link", { name: "spares.csv" }).click();
      await page.getByText("lid", { exact: false }).first().waitFor();
    });
  });

  test("a dataset and a knowledge base chat keep the concurrent changes of others", async () => {
    const made = await gateway.ask<{ createDataset: { dataset: { id: string } } }>("mutation($input: CreateDatasetInput!) { createDataset(input: $input) { dataset { id } } }", {
      input: { name: "Recipes", description: "Of jam." },
    });
    const datasetId = made.createDataset.dataset.id;
    await visit(`knowledge/datasets/${datasetId}`, async (page, { checkAccessible }) => {
      await page.getByRole("button", { name: "Settings" }).click();
      const dialog = page.getByRole("dialog", { name: "Dataset settings" });
      await checkAccessible();
      await dialog.getByLabel("Name", { exact: true }).fill("x".repeat(256));
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByText("must have 1 to 255 characters").waitFor();
      await dialog.getByLabel("Name", { exact: true }).fill("Recipes of jam");
      await dialog.getByLabel("Separators").fill("\\n\\n");
      await gateway.ask("mutation($input: UpdateDatasetInput!) { updateDataset(input: $input) { dataset { id } } }", {
        input: { datasetId, description: "Of jam and jelly." },
      });
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByRole("alert").getByText("Of jam and jelly.").waitFor();
      await checkAccessible();
      assert.equal(await dialog.getByLabel("Name", { exact: true }).inputValue(), "Recipes of jam", "what was written stays");
      await dialog.getByRole("button", { name: "Overwrite with mine" }).click();
      await page.getByRole("heading", { level: 1, name: "Recipes of jam" }).waitFor();
      await page.getByText("Of jam and jelly.").waitFor();
    });
    const { dataset } = await gateway.ask<{ dataset: { parserConfig: { delimiter: string } } }>(`{ dataset(id: "${datasetId}") { parserConfig { delimiter } } }`);
    assert.equal(dataset.parserConfig.delimiter, "\n\n");

    const chat = await gateway.ask<{ createKnowledgeBaseChat: { knowledgeBaseChat: { id: string } } }>(
      "mutation($input: CreateKnowledgeBaseChatInput!) { createKnowledgeBaseChat(input: $input) { knowledgeBaseChat { id } } }",
      { input: { name: "Kitchen" } },
    );
    const chatId = chat.createKnowledgeBaseChat.knowledgeBaseChat.id;
    await visit(`knowledge/chats/${chatId}`, async (page, { checkAccessible }) => {
      await page.getByRole("button", { name: "Settings" }).click();
      const dialog = page.getByRole("dialog", { name: "Knowledge base chat settings" });
      await dialog.getByRole("checkbox", { name: /Recipes of jam/ }).check();
      await checkAccessible();
      await dialog.getByLabel("Answer without results").fill("I know only of jam.");
      await gateway.ask("mutation($input: UpdateKnowledgeBaseChatInput!) { updateKnowledgeBaseChat(input: $input) { knowledgeBaseChat { id } } }", {
        input: { chatId, promptSettings: { topN: 9 } },
      });
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByRole("alert").getByText("Maximum chunks").waitFor();
      await dialog.getByRole("button", { name: "Overwrite with mine" }).click();
      await page.getByRole("link", { name: /Recipes of jam/ }).waitFor();
      assert.equal(await page.getByLabel("Maximum chunks").inputValue(), "9", "what others changed stays");
      await page.getByLabel("Question from a contact").fill("How long does plum jam keep?");
      await page.getByLabel("Minimum score").fill("0.4");
      await page.getByRole("button", { name: "Ask" }).click();
      await page.getByText("Not saved: minimum score 0.4 instead of 0.2.").waitFor();
      await gateway.ask("mutation($input: UpdateKnowledgeBaseChatInput!) { updateKnowledgeBaseChat(input: $input) { knowledgeBaseChat { id } } }", {
        input: { chatId, promptSettings: { similarityThreshold: 0.3 } },
      });
      await page.getByRole("button", { name: "Save these settings" }).click();
      await page.getByText("Not saved: minimum score 0.4 instead of 0.3.").waitFor();
      await page.getByRole("alert").getByText("Somebody else changed this knowledge base chat after you opened it").waitFor();
      await page.getByRole("button", { name: "Save these settings" }).click();
      await page.getByText("Saved settings.", { exact: false }).waitFor();
      await page.getByText("not connected to an agent").waitFor();
    });
    const saved = await gateway.ask<{ knowledgeBaseChat: { promptSettings: { similarityThreshold: number; topN: number; emptyResponse: string } } }>(
      `{ knowledgeBaseChat(id: "${chatId}") { promptSettings { similarityThreshold topN emptyResponse } } }`,
    );
    assert.deepEqual(saved.knowledgeBaseChat.promptSettings, { similarityThreshold: 0.4, topN: 9, emptyResponse: "I know only of jam." });
  });
});
