// Several gateways on one database. The others show what one writes, and take over what one that dies leaves half done.
import assert from "node:assert/strict";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "graphql-ws";
import WebSocket from "ws";
import { startGateway } from "./gateway.mjs";
import { PromptedModel } from "./prompted-model.mjs";

const model = new PromptedModel();
/** The first answers with the offline model, the second with the prompted one. The database is the first's. */
let first, second, directory, prompted;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "agentgraph-replicas-"));
  // The database server may run as another user, who must get through this directory.
  await chmod(directory, 0o711);
  prompted = await model.listen();
  first = await startGateway({ directory });
  second = await startGateway({ directory, environment: prompted });
  assert.equal(second.key, first.key);
});
after(async () => {
  model.close();
  // The second is dead by now, unless a test failed.
  await second?.kill();
  await first?.stop();
  await rm(directory, { recursive: true, force: true });
});

const clients = [];
afterEach(() => Promise.all(clients.splice(0).map((client) => client.dispose())));

/** Yields the results of a subscription at one gateway. */
async function* watch(gateway, query, variables) {
  const client = createClient({
    url: gateway.socketUrl,
    webSocketImpl: WebSocket,
    connectionParams: { "X-Api-Key": gateway.key },
    retryAttempts: 0,
  });
  clients.push(client);
  for await (const { data, errors } of client.iterate({ query, variables })) {
    assert.equal(errors, undefined, JSON.stringify(errors));
    yield Object.values(data)[0];
  }
}

const messages = `subscription ($chatId: ID!, $after: Int! = 0) {
  simulationChatMessages(simulationChatId: $chatId, afterSequence: $after) { sequence role text isConversationEnded }
}`;
const numbers = (count) => Array.from({ length: count }, (_, index) => index + 1);
async function all(results) {
  const seen = [];
  for await (const result of results) seen.push(result);
  return seen;
}

/** Reads a chat from a gateway. */
async function kept(gateway, chatId) {
  const { simulationChat } = await gateway.graphql(
    "query ($chatId: ID!) { simulationChat(id: $chatId) { status messages { sequence role text isConversationEnded } } }",
    { chatId },
  );
  return simulationChat;
}
/**
 * Follows a chat at a gateway and lets the model speak until a piece arrives there, because earlier text is not kept for
 * latecomers. Returns what the model said, the piece that arrived, and the events after it.
 */
async function speakUntilHeard(answer, gateway, chatId) {
  const events = watch(
    gateway,
    `subscription ($chatId: ID!) {
      simulationChatEvents(simulationChatId: $chatId) {
        ... on TurnStarted { turnId messageSequence asked: text }
        ... on MessageDelta { sequence turnId offset text }
        ... on MessageWritten { message { sequence text } }
        ... on TurnFailed { turnId messageSequence reason }
      }
    }`,
    { chatId },
  );
  let said = "";
  let heard;
  const listening = (async () => {
    // The beginning of the turn may or may not have been heard.
    for (;;) {
      const { value } = await events.next();
      if (value.offset !== undefined) return (heard = value);
    }
  })();
  for (let n = 1; heard === undefined; n++) {
    answer.speak(`piece ${n} `);
    said += `piece ${n} `;
    await Promise.race([listening, delay(5)]);
  }
  return { said, heard, events };
}
const codes = (answer) => answer.errors?.map((error) => error.extensions.code);

test("what is sent to either is seen at both, in order and once", async () => {
  const chatId = await first.startChat();
  const watchers = [first, second, first, second].map((gateway) => all(watch(gateway, messages, { chatId })));
  for (let round = 1; round <= 10; round++) {
    await first.say(chatId, "Is there parking?");
    const reply = second.say(chatId, `Round ${round}`);
    const answer = await model.asked();
    answer.speak(`Reply ${round}`);
    answer.finish();
    await reply;
  }
  await first.say(chatId, "Goodbye");
  const shown = (await kept(second, chatId)).messages;
  assert.deepEqual(shown.map((m) => m.sequence), numbers(43));
  for (const seen of await Promise.all(watchers)) assert.deepEqual(seen, shown);
});

test("text that one generates is streamed at the other, and the written message replaces it", async () => {
  const chatId = await first.startChat();
  const reply = second.say(chatId, "Hello?");
  const answer = await model.asked();
  const { said, heard, events } = await speakUntilHeard(answer, first, chatId);
  assert.equal(heard.sequence, 3);
  assert.equal(said.slice(heard.offset, heard.offset + heard.text.length), heard.text);
  assert.equal((await kept(first, chatId)).messages.length, 1);
  answer.finish();
  await reply;
  const written = [];
  while (written.length < 2) {
    const { value } = await events.next();
    if (value.message) written.push(value.message);
  }
  assert.deepEqual(written.map((m) => [m.sequence, m.text]), [[2, "Hello?"], [3, said.trim()]]);
});

test("while one answers, the other says that it is busy", async () => {
  const chatId = await first.startChat();
  const winner = second.say(chatId, "Am I first?");
  const answer = await model.asked();
  assert.equal((await kept(first, chatId)).status, "Replying");
  assert.deepEqual(codes(await first.send(chatId, "Or am I?")), ["CONFLICT"]);
  answer.speak("You are.");
  answer.finish();
  assert.deepEqual((await winner).map((m) => m.text), ["Am I first?", "You are."]);
  const { status, messages } = await kept(first, chatId);
  assert.deepEqual([status, messages.length], ["Open", 3]);
});

test("a reply is dropped when the chat is ended at the other", async () => {
  const chatId = await first.startChat();
  const dropped = second.send(chatId, "Are you there?");
  (await model.asked()).speak("I was about to");
  await first.graphql(`mutation ($id: ID!) { endSimulationChat(input: { simulationChatId: $id }) { simulationChat { id } } }`, { id: chatId });
  assert.deepEqual(codes(await dropped), ["CONFLICT"]);
  const { status, messages } = await kept(second, chatId);
  assert.deepEqual([status, messages.length], ["Ended", 1]);
});

test("a model that breaks off leaves nothing behind, so sending again is safe", async () => {
  const chatId = await first.startChat();
  const failed = second.request("POST", "/SimulationChat/send-message", {
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ simulationChatId: chatId, message: "Hello?" }),
  });
  const answer = await model.asked();
  const { heard, events } = await speakUntilHeard(answer, second, chatId);
  answer.breakOff();
  const { status, json } = await failed;
  assert.deepEqual([status, json.status, json.code], [502, 502, "UPSTREAM_FAILED"], JSON.stringify(json));
  const before = await kept(first, chatId);
  assert.deepEqual([before.status, before.messages.length], ["Open", 1]);

  // Watchers learn that the streamed text is void, and that what follows belongs to another attempt.
  let event;
  do ({ value: event } = await events.next());
  while (event.reason === undefined);
  assert.deepEqual(event, { turnId: heard.turnId, messageSequence: 2, reason: json.detail });
  const again = second.say(chatId, "Hello?");
  const better = await model.asked();
  better.speak("A whole answer.");
  // What the contact said comes before what the agent says.
  const { value: begun } = await events.next();
  assert.deepEqual([begun.messageSequence, begun.asked], [2, "Hello?"]);
  assert.notEqual(begun.turnId, heard.turnId);
  ({ value: event } = await events.next());
  assert.deepEqual([event.turnId, event.sequence, event.offset], [begun.turnId, 3, 0]);
  better.finish();
  assert.deepEqual((await again).map((m) => [m.sequence, m.text]), [[2, "Hello?"], [3, "A whole answer."]]);
});

test("one that is told to end says goodbye to its sockets, and their clients go on elsewhere", async () => {
  const third = await startGateway({ directory, environment: prompted });
  const chatId = await first.startChat();
  const seen = [];
  const watched = (async () => {
    for await (const message of watch(third, messages, { chatId })) seen.push(message);
  })();
  const parted = assert.rejects(watched, (event) => event.code === 1001);
  // A reply under way is finished first.
  const reply = third.say(chatId, "Before you go");
  const answer = await model.asked();
  const stopped = third.stop();
  await parted;
  answer.speak("Last words.");
  answer.finish();
  assert.deepEqual((await reply).map((m) => m.sequence), [2, 3]);
  await stopped;
  const rest = all(watch(first, messages, { chatId, after: seen.length }));
  await first.say(chatId, "Goodbye");
  assert.deepEqual([...seen, ...(await rest)], (await kept(first, chatId)).messages);
});

test("one that dies in mid-reply leaves a chat that can be used again within 15 seconds", async () => {
  const chatId = await first.startChat();
  const watched = all(watch(first, messages, { chatId }));
  const lost = assert.rejects(second.say(chatId, "Anybody there?"));
  await speakUntilHeard(await model.asked(), first, chatId);
  assert.equal((await kept(first, chatId)).status, "Replying");

  await second.kill();
  await lost;
  const died = performance.now();
  let answer;
  // The chat becomes free only when its lease runs out, so the contact tries until then.
  while (codes((answer = await first.send(chatId, "Is there parking?")))?.[0] === "CONFLICT") {
    assert.ok(performance.now() - died < 15_000, "the chat is still claimed after 15 seconds");
    await delay(100);
  }
  assert.equal(answer.errors, undefined, JSON.stringify(answer.errors));
  await first.say(chatId, "Goodbye");

  const shown = await kept(first, chatId);
  assert.equal(shown.status, "Ended");
  assert.deepEqual(shown.messages.map((m) => m.sequence), numbers(5));
  assert.deepEqual(shown.messages.filter((m) => m.role === "user").map((m) => m.text), ["Is there parking?", "Goodbye"]);
  assert.deepEqual(await watched, shown.messages);
});
