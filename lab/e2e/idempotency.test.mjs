// A client repeats a request because it does not know the outcome.
import assert from "node:assert/strict";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { startGateway } from "./gateway.mjs";
import { PromptedModel } from "./prompted-model.mjs";

const model = new PromptedModel();
let directory, environment, gateway, victim;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "agentgraph-idempotency-"));
  // The database server may run as another user, who must get through this directory.
  await chmod(directory, 0o711);
  environment = await model.listen();
  gateway = await startGateway({ directory, environment });
  victim = await startGateway({ directory, environment });
});
after(async () => {
  model.close();
  // The victim is dead by now, unless a test failed.
  await victim?.kill();
  await gateway?.stop();
  await rm(directory, { recursive: true, force: true });
});

let keys = 0;
const newKey = () => `e2e-${++keys}`;
const post = (at, path, key, body) =>
  at.request("POST", path, { headers: { "content-type": "application/json", "idempotency-key": key }, body: JSON.stringify(body) });

/** Checks that the second answer is a replay of the first. */
function isReplay(first, second) {
  assert.equal(first.headers["idempotent-replayed"], undefined);
  assert.equal(second.headers["idempotent-replayed"], "true", second.text);
  assert.notEqual(first.headers["x-trace-id"], second.headers["x-trace-id"]);
  for (const name of ["content-type", "content-length", "location"]) assert.equal(first.headers[name], second.headers[name]);
  assert.deepEqual([first.status, first.text], [second.status, second.text]);
}

test("a dataset is created once, whichever gateway is asked", async () => {
  const key = newKey();
  const first = await post(gateway, "/Dataset", key, { name: "Once" });
  assert.equal(first.status, 200, first.text);
  isReplay(first, await post(gateway, "/Dataset", key, { name: "Once" }));
  isReplay(first, await post(victim, "/Dataset", key, { name: "Once" }));
  const other = await post(victim, "/Dataset", key, { name: "Twice" });
  assert.deepEqual([other.status, other.type, other.json.code], [422, "application/problem+json", "UNPROCESSABLE"]);
  const { datasets } = await gateway.graphql(`{ datasets(first: 100) { nodes { name } } }`);
  assert.equal(datasets.nodes.filter((dataset) => dataset.name === "Once").length, 1);
});

test("a file is added once, although a form looks different each time", async () => {
  const dataset = (await post(gateway, "/Dataset", newKey(), { name: "Files" })).json;
  const key = newKey();
  const send = async (text) => {
    const body = new FormData();
    body.set("file", new File([text], "hours.txt", { type: "text/plain" }));
    const response = await fetch(`${gateway.restUrl}/Dataset/${dataset.id}/document`, {
      method: "POST",
      headers: { "X-Api-Key": gateway.key, "Idempotency-Key": key },
      body,
    });
    return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
  };
  const first = await send("Open from nine to five.");
  assert.equal(first.status, 200, first.text);
  isReplay(first, await send("Open from nine to five."));
  assert.equal((await send("Open from nine to six.")).status, 422);
});

test("a mutation is carried out once, and queries are not kept", async () => {
  const body = { query: `mutation { createDataset(input: { name: "Graph" }) { dataset { id } } }` };
  const key = newKey();
  isReplay(await post(gateway, "/graphql", key, body), await post(gateway, "/graphql", key, body));
  const query = { query: "{ datasets { totalCount } }" };
  for (let n = 0; n < 2; n++) assert.equal((await post(gateway, "/graphql", key, query)).headers["idempotent-replayed"], undefined);
});

test("a message whose gateway is killed is sent again under its key", async () => {
  const chatId = await gateway.startChat();
  const key = newKey();
  const message = { simulationChatId: chatId, message: "Anybody there?" };
  const lost = assert.rejects(post(victim, "/SimulationChat/send-message", key, message));
  await model.asked();
  const running = await post(gateway, "/SimulationChat/send-message", key, message);
  assert.deepEqual([running.status, running.headers["retry-after"]], [409, "1"], running.text);
  await victim.kill();
  await lost;
  const died = performance.now();
  const asked = model.asked();
  let sent, answer;
  // The key and the chat become free only when their leases run out.
  while (answer === undefined) {
    assert.ok(performance.now() - died < 15_000, "the key is still taken after 15 seconds");
    sent = post(gateway, "/SimulationChat/send-message", key, message);
    answer = await Promise.race([asked, sent.then(() => delay(100))]);
  }
  answer.speak("Yes.");
  answer.finish();
  const first = await sent;
  assert.deepEqual([first.status, first.json.messages.map((m) => m.text)], [200, ["Hello, how can I help?", "Anybody there?", "Yes."]]);
  isReplay(first, await post(gateway, "/SimulationChat/send-message", key, message));
});
