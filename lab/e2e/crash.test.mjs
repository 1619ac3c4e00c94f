// A gateway is killed during a real call, and another one takes over the chat.
import assert from "node:assert/strict";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { startGateway } from "./gateway.mjs";
import { PromptedModel } from "./prompted-model.mjs";

const model = new PromptedModel();
let directory, environment, survivor, telephony;
let transfers = 0;
let onTransfer = () => {};

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "agentgraph-crash-"));
  // The database server may run as another user, who must get through this directory.
  await chmod(directory, 0o711);
  telephony = http.createServer(async (request, response) => {
    transfers++;
    await onTransfer();
    response.end();
  });
  await new Promise((resolve) => telephony.listen(0, "127.0.0.1", resolve));
  environment = {
    ...(await model.listen()),
    AGENTGRAPH_TRANSFER_WEBHOOK: `http://127.0.0.1:${telephony.address().port}/transfer`,
    AGENTGRAPH_TOOL_ALLOW: "127.0.0.1",
  };
  survivor = await startGateway({ directory, environment });
});
after(async () => {
  model.close();
  telephony.closeAllConnections();
  telephony.close();
  await survivor?.stop();
  await rm(directory, { recursive: true, force: true });
});

const wish = { reason: "wants a human" };
const kept = async (chatId) => {
  const { simulationChat } = await survivor.graphql(
    `query ($chatId: ID!) { simulationChat(id: $chatId) {
      status messages { sequence } toolCalls { kind technicalName arguments result error isTurnKept mocked }
    } }`,
    { chatId },
  );
  return simulationChat;
};

test("a transfer whose gateway was killed is on record, and not made again", async () => {
  const victim = await startGateway({ directory, environment });
  const chatId = await survivor.startChat(await survivor.createAgent({ channel: "Phone", isCallTransferEnabled: true }));
  onTransfer = () => victim.kill();
  const lost = assert.rejects(victim.say(chatId, "A human, please"));
  (await model.asked()).call("transfer_call", wish);
  await lost;
  const begun = await kept(chatId);
  assert.equal(transfers, 1);
  assert.deepEqual(begun.toolCalls, [{
    kind: "CallTransfer", technicalName: "transfer_call", arguments: wish, result: null, mocked: false,
    error: "the call was begun, and what came of it is not known", isTurnKept: false,
  }]);

  // The chat becomes free only when its lease runs out, so the contact tries until the model is asked.
  const asked = model.asked();
  let sent, first;
  while (first === undefined) {
    sent = survivor.send(chatId, "A human, please");
    first = await Promise.race([asked, sent.then(() => delay(100))]);
  }
  first.call("transfer_call", wish);
  const second = await model.asked();
  second.speak("You are being transferred.");
  second.finish();
  assert.equal((await sent).errors, undefined);
  assert.equal(transfers, 1, "the contact was transferred twice");
  const { toolCalls, messages } = await kept(chatId);
  assert.equal(messages.length, 3);
  assert.deepEqual(toolCalls.map((call) => [call.error, call.isTurnKept]), [
    ["the call was begun, and what came of it is not known", false],
    ["an earlier transfer may have happened, so it is not repeated", true],
  ]);
});

test("a client that leaves during a transfer leaves a chat that has ended", async () => {
  const chatId = await survivor.startChat(await survivor.createAgent({ channel: "Phone", isCallTransferEnabled: true }));
  const before = transfers;
  const body = JSON.stringify({ simulationChatId: chatId, message: "A human, please" });
  const request = http.request(new URL("/SimulationChat/send-message", survivor.restUrl), {
    method: "POST",
    headers: { "x-api-key": survivor.key, "content-type": "application/json", "content-length": Buffer.byteLength(body) },
  });
  request.on("error", () => {});
  onTransfer = () => request.destroy();
  request.end(body);
  (await model.asked()).call("transfer_call", wish);
  while ((await kept(chatId)).status !== "Ended") await delay(50);
  const { toolCalls, messages } = await kept(chatId);
  assert.equal(messages.length, 3);
  assert.deepEqual(toolCalls.map((call) => [call.error, call.isTurnKept]), [[null, true]]);
  assert.equal(transfers, before + 1);
});
