// npm graphql-ws with real simulated chats.
import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { createClient } from "graphql-ws";
import WebSocket from "ws";
import { startGateway } from "./gateway.mjs";

const hello = "{ __typename }";
const messages = `subscription ($chatId: ID!, $after: Int! = 0) {
  simulationChatMessages(simulationChatId: $chatId, afterSequence: $after) { sequence role text isConversationEnded endReason }
}`;
const happenings = `subscription ($chatId: ID!) {
  simulationChatEvents(simulationChatId: $chatId) {
    __typename
    ... on MessageDelta { sequence text }
    ... on MessageWritten { message { sequence role text } }
    ... on ChatEnded { endReason }
  }
}`;

const gateway = await startGateway();
after(() => gateway.stop());

const clients = [];
afterEach(() => Promise.all(clients.splice(0).map((client) => client.dispose())));
const connect = (options = {}) => {
  const client = createClient({
    url: gateway.socketUrl,
    webSocketImpl: WebSocket,
    connectionParams: { "X-Api-Key": gateway.key },
    retryAttempts: 0,
    ...options,
  });
  clients.push(client);
  return client;
};
/** Collects the results of the subscription until it completes. Calls `each` with every result as it comes. */
const collect = async (client, query, variables, each = () => {}) => {
  const all = [];
  for await (const { data, errors } of client.iterate({ query, variables })) {
    assert.equal(errors, undefined, JSON.stringify(errors));
    const [result] = Object.values(data);
    all.push(result);
    each(result);
  }
  return all;
};
const numbers = (count) => Array.from({ length: count }, (_, index) => index + 1);

test("a chat, live: every message once, in order, until the agent ends it", async () => {
  const chatId = await gateway.startChat();
  const said = ["Hi", "Is there parking?", "When is the desk open?", "Thanks", "Goodbye"];
  const watched = collect(connect(), messages, { chatId }, (message) => {
    // The contact answers each message that it sees, and nothing else sets the pace.
    if (message.role === "assistant" && said.length > 0) gateway.say(chatId, said.shift());
  });
  const seen = await watched;
  assert.deepEqual(seen.map((m) => m.sequence), numbers(11));
  assert.deepEqual(seen.map((m) => m.role), numbers(11).map((n) => (n % 2 ? "assistant" : "user")));
  assert.deepEqual(seen.filter((m) => m.isConversationEnded).map((m) => m.sequence), [11]);
  assert.ok(seen.at(-1).endReason);
  const { simulationChat } = await gateway.graphql(
    `query ($chatId: ID!) { simulationChat(id: $chatId) { status messages { sequence role text isConversationEnded endReason } } }`,
    { chatId },
  );
  assert.deepEqual(simulationChat, { status: "Ended", messages: seen });
});

test("many watchers of one chat see the same", async () => {
  const chatId = await gateway.startChat();
  const [one, other] = [connect(), connect()];
  const watchers = numbers(20).map((n) => collect(n % 2 ? one : other, messages, { chatId }));
  for (const text of ["Hi", "Is there parking?", "Goodbye"]) await gateway.say(chatId, text);
  const seen = await Promise.all(watchers);
  for (const each of seen) assert.deepEqual(each.map((m) => m.sequence), numbers(7));
});

test("afterSequence begins behind what a client has", async () => {
  const chatId = await gateway.startChat();
  for (const text of ["Hi", "Goodbye"]) await gateway.say(chatId, text);
  const client = connect();
  for (const has of [0, 2, 4]) {
    const seen = await collect(client, messages, { chatId, after: has });
    assert.deepEqual(seen.map((m) => m.sequence), numbers(5).slice(has));
  }
  assert.deepEqual(await collect(client, messages, { chatId, after: 5 }), []);
});

test("a negative afterSequence is refused", async () => {
  const chatId = await gateway.startChat();
  await assert.rejects(collect(connect(), messages, { chatId, after: -1 }), (errors) => {
    assert.deepEqual(errors.map((e) => e.extensions.code), ["BAD_INPUT"]);
    return true;
  });
});

test("what a client ends, ends for those who watch", async () => {
  const chatId = await gateway.startChat();
  const seen = collect(connect(), messages, { chatId }, () =>
    gateway.graphql(`mutation ($id: ID!) { endSimulationChat(input: { simulationChatId: $id }) { simulationChat { id } } }`, { id: chatId }),
  );
  assert.deepEqual((await seen).map((m) => m.sequence), [1]);
});

test("events: text as it is generated, then the written message, at last the end", async () => {
  const chatId = await gateway.startChat();
  const events = [];
  const watched = collect(connect(), happenings, { chatId }, (event) => events.push(event));
  // Events before the subscription has begun are lost, so the contact talks until one arrives.
  while (events.length === 0) await gateway.say(chatId, "Is there parking?");
  await gateway.say(chatId, "When is the desk open?");
  await gateway.say(chatId, "Goodbye");
  await watched;

  const written = new Map();
  let pieces = 0;
  for (const event of events.toReversed()) {
    if (event.__typename === "MessageWritten") written.set(event.message.sequence, event.message);
    if (event.__typename !== "MessageDelta") continue;
    // In reverse order, a piece comes after the message that it belongs to.
    assert.ok(written.get(event.sequence)?.text.includes(event.text.trim()), JSON.stringify(events));
    pieces++;
  }
  assert.ok(pieces > 0, "no text was streamed");
  const sequences = [...written.keys()].reverse();
  assert.deepEqual(sequences, numbers(sequences.at(-1)).slice(-sequences.length));
  assert.ok(sequences.length >= 4);
  assert.deepEqual(events.map((e) => e.__typename === "ChatEnded").indexOf(true), events.length - 1);
  assert.ok(events.at(-1).endReason);
});

test("a client that loses its connection again and again misses nothing", async () => {
  const chatId = await gateway.startChat();
  const said = ["Hi", "Is there parking?", "When is the desk open?", "Is there parking?", "Thanks", "Goodbye"];
  const sequences = [];
  let done = false;
  while (!done) {
    let socket;
    const client = connect({ on: { opened: (opened) => (socket = opened) } });
    const watched = collect(client, messages, { chatId, after: sequences.length }, (message) => {
      sequences.push(message.sequence);
      if (message.role === "assistant" && said.length > 0) gateway.say(chatId, said.shift());
      if (!message.isConversationEnded) socket.terminate();
    });
    done = await watched.then(() => true, (event) => assert.equal(event.code, 1006));
  }
  assert.deepEqual(sequences, numbers(13));
});

test("a query, and a mistake", async () => {
  const client = connect();
  const [company] = await collect(client, "{ company { name } }");
  assert.ok(company.name);
  await assert.rejects(collect(client, "{ noSuchField }"), (errors) => Array.isArray(errors) && errors[0].message !== "");
});

test("a wrong key", async () => {
  const client = connect({ connectionParams: { "X-Api-Key": "wrong" } });
  await assert.rejects(collect(client, hello), (event) => event.code === 4403);
});

test("pings of the client are answered", () =>
  new Promise((resolve) => connect({ lazy: false, keepAlive: 20, on: { pong: (received) => received && resolve() } })));
