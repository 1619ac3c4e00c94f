// graphql-transport-ws, message by message over a bare socket.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { startGateway } from "./gateway.mjs";
import { Peer, protocol } from "./peer.mjs";
import { PromptedModel } from "./prompted-model.mjs";

const hello = "{ __typename }";
const messages = `subscription ($chatId: ID!, $after: Int! = 0) {
  simulationChatMessages(simulationChatId: $chatId, afterSequence: $after) { sequence }
}`;
const events = `subscription ($chatId: ID!) { simulationChatEvents(simulationChatId: $chatId) { __typename } }`;

const gateway = await startGateway();
after(() => gateway.stop());
afterEach(() => Peer.endAll());

describe("handshake", () => {
  for (const protocols of [protocol, [protocol, "graphql-ws"], ["graphql-ws", protocol]]) {
    test(`${protocols}`, async () => {
      const peer = await new Peer(gateway, { protocols }).opened;
      assert.equal(peer.protocol, protocol);
    });
  }
  for (const protocols of ["graphql-ws", "no-such-protocol"]) {
    // The gateway opens the socket without a protocol, which the client library takes for a failure.
    test(`${protocols} is not spoken`, () => assert.rejects(new Peer(gateway, { protocols }).opened, /subprotocol/));
  }
  test("no protocol: 4406", async () => {
    const peer = await new Peer(gateway, { protocols: [] }).opened;
    await peer.endsWith(4406);
  });
  test("a page of another site is refused", () =>
    assert.rejects(new Peer(gateway, { headers: { origin: "http://elsewhere.example" } }).opened, /403/));
});

describe("initialisation", () => {
  const initialised = async (payload, headers = {}) => {
    const peer = await new Peer(gateway, { headers }).opened;
    peer.send({ type: "connection_init", ...(payload === undefined ? {} : { payload }) });
    return peer;
  };
  const good = { "x-api-key": gateway.key };
  for (const [name, payload, headers] of [
    ["the key in the handshake", undefined, good],
    ["the key in the handshake, payload null", null, good],
    ["the key in the handshake, payload without it", { other: 1 }, good],
    ["the key in the payload", { "X-Api-Key": gateway.key }],
    ["the key in the payload, in lower case", good],
    ["the payload's key before the handshake's", good, { "x-api-key": "wrong" }],
  ]) {
    test(`acknowledged: ${name}`, async () => {
      const peer = await initialised(payload, headers);
      assert.deepEqual(await peer.next(), { type: "connection_ack" });
      peer.subscribe("q", "{ company { name } }");
      assert.equal((await peer.next()).payload.errors, undefined);
    });
  }
  for (const [name, payload, headers] of [
    ["no key", undefined],
    ["no key in the payload", {}],
    ["a wrong key", { "X-Api-Key": "wrong" }],
    ["a key that is not a string", { "X-Api-Key": 1 }],
    ["a wrong key in the payload, a good one in the handshake", { "X-Api-Key": "wrong" }, good],
  ]) {
    test(`4403: ${name}`, async () => (await initialised(payload, headers)).endsWith(4403));
  }
  for (const payload of ["text", 1, [], true]) {
    test(`4400: a payload that is ${JSON.stringify(payload)}`, async () => (await initialised(payload, good)).endsWith(4400));
  }
  test("4401: an operation before it", async () => {
    const peer = await new Peer(gateway).opened;
    peer.subscribe("q", hello);
    await peer.endsWith(4401);
  });
  test("4403: an operation behind a refused one is not run", async () => {
    const peer = await initialised({ "X-Api-Key": "wrong" });
    peer.subscribe("q", hello);
    await peer.endsWith(4403);
  });
  test("4429: twice", async () => {
    const peer = await Peer.ready(gateway);
    peer.send({ type: "connection_init" });
    await peer.endsWith(4429);
  });
  test("4429: twice at once", async () => {
    const peer = await initialised(undefined, good);
    peer.send({ type: "connection_init" });
    assert.equal(await peer.end(), 4429);
  });
  test("4408: never", async () => (await new Peer(gateway).opened).endsWith(4408));
  test("4408: never, whatever else is said", async () => {
    const peer = await new Peer(gateway).opened;
    peer.send({ type: "pong" });
    assert.deepEqual(await peer.untilPong(), []);
    await peer.endsWith(4408);
  });
});

describe("signs of life", () => {
  for (const state of ["before", "after"]) {
    test(`${state} initialisation`, async () => {
      const peer = state === "before" ? await new Peer(gateway).opened : await Peer.ready(gateway);
      peer.send({ type: "pong", payload: { unasked: true } });
      peer.send({ type: "ping" });
      peer.send({ type: "ping", payload: { n: 7 } });
      assert.deepEqual(await peer.take(2), [{ type: "pong" }, { type: "pong", payload: { n: 7 } }]);
    });
  }
  test("a client that closes is closed to", async () => {
    const peer = await Peer.ready(gateway);
    peer.close(1000);
    await peer.endsWith(1000);
  });
});

describe("4400", () => {
  const frames = {
    "no JSON": "{not json",
    "nothing": "",
    "a list": "[]",
    "null": "null",
    "no type": { id: "a" },
    "an unknown type": { id: "a", type: "start", payload: {} },
    "a type of the server: next": { id: "a", type: "next", payload: {} },
    "a type of the server: error": { id: "a", type: "error", payload: [] },
    "a type of the server: connection_ack": { type: "connection_ack" },
    "subscribe without an id": { type: "subscribe", payload: { query: hello } },
    "subscribe with an empty id": { id: "", type: "subscribe", payload: { query: hello } },
    "subscribe with a number for an id": { id: 1, type: "subscribe", payload: { query: hello } },
    "subscribe without a payload": { id: "a", type: "subscribe" },
    "subscribe with a text for a payload": { id: "a", type: "subscribe", payload: hello },
    "subscribe without a query": { id: "a", type: "subscribe", payload: {} },
    "a query that is no text": { id: "a", type: "subscribe", payload: { query: 1 } },
    "variables that are a list": { id: "a", type: "subscribe", payload: { query: hello, variables: [1] } },
    "an operationName that is no text": { id: "a", type: "subscribe", payload: { query: hello, operationName: 1 } },
    "extensions that are a text": { id: "a", type: "subscribe", payload: { query: hello, extensions: "x" } },
    "complete without an id": { type: "complete" },
    "a ping with a text": { type: "ping", payload: "x" },
    "a binary frame": Buffer.from(JSON.stringify({ type: "ping" })),
  };
  for (const [name, frame] of Object.entries(frames)) {
    test(name, async () => {
      const peer = await Peer.ready(gateway);
      peer.send(frame);
      await peer.endsWith(4400);
    });
  }
  test("before initialisation too", async () => {
    const peer = await new Peer(gateway).opened;
    peer.send("{not json");
    await peer.endsWith(4400);
  });
  test("1009: a message over 1 MiB", async () => {
    const peer = await Peer.ready(gateway);
    peer.send({ id: "a", type: "subscribe", payload: { query: `${hello} #${"x".repeat(1 << 20)}` } });
    await peer.endsWith(1009);
  });
});

describe("operations", () => {
  /** Returns an acknowledged socket on which "watch" has received the welcome of a chat that goes on. */
  const watching = async () => {
    const chatId = await gateway.startChat();
    const peer = await Peer.ready(gateway);
    peer.subscribe("watch", messages, { chatId });
    const first = await peer.next();
    assert.equal(first.id, "watch");
    assert.equal(first.payload.data.simulationChatMessages.sequence, 1);
    return { peer, chatId };
  };
  const completed = (id) => ({ id, type: "complete" });
  const result = (id) => ({ id, type: "next", payload: { data: { __typename: "Query" } } });

  test("a query: its result, and complete", async () => {
    const peer = await Peer.ready(gateway);
    peer.subscribe("q", hello);
    assert.deepEqual(await peer.take(2), [result("q"), completed("q")]);
    assert.deepEqual(await peer.untilPong(), []);
  });
  test("members that are null", async () => {
    const peer = await Peer.ready(gateway);
    peer.send({ id: "q", type: "subscribe", payload: { query: hello, operationName: null, variables: null, extensions: null } });
    assert.deepEqual(await peer.take(2), [result("q"), completed("q")]);
  });
  test("a mutation", async () => {
    const peer = await Peer.ready(gateway);
    const chatId = await gateway.startChat();
    peer.subscribe("m", `mutation ($id: ID!) { endSimulationChat(input: { simulationChatId: $id }) { simulationChat { status } } }`, {
      id: chatId,
    });
    const [next, complete] = await peer.take(2);
    assert.equal(next.payload.data.endSimulationChat.simulationChat.status, "Ended");
    assert.deepEqual(complete, completed("m"));
  });
  for (const [name, query] of Object.entries({
    "a syntax error": "{",
    "an unknown field": "{ noSuchField }",
    "a missing variable": messages,
  })) {
    test(`${name}: one error, no complete, and the id is free`, async () => {
      const peer = await Peer.ready(gateway);
      peer.subscribe("e", query);
      const error = await peer.next();
      assert.equal(error.type, "error");
      assert.equal(error.id, "e");
      assert.ok(Array.isArray(error.payload) && error.payload.every((e) => e.message), JSON.stringify(error));
      assert.deepEqual(await peer.untilPong(), []);
      peer.subscribe("e", hello);
      assert.deepEqual(await peer.take(2), [result("e"), completed("e")]);
    });
  }
  test("a subscription that cannot begin: one error, no complete", async () => {
    const peer = await Peer.ready(gateway);
    for (const [id, query] of [["f", messages], ["g", events]]) {
      peer.subscribe(id, query, { chatId: "chat_of_nobody" });
      const error = await peer.next();
      assert.deepEqual([error.id, error.type], [id, "error"], JSON.stringify(error));
      assert.equal(error.payload[0].extensions.code, "NOT_FOUND");
    }
    assert.deepEqual(await peer.untilPong(), []);
  });
  test("4409: an id that is taken", async () => {
    const { peer, chatId } = await watching();
    peer.subscribe("watch", messages, { chatId });
    await peer.endsWith(4409);
  });
  test("4409: an id that is taken by an operation of another kind", async () => {
    const { peer } = await watching();
    peer.subscribe("watch", hello);
    await peer.endsWith(4409);
  });
  test("4409: an id twice at once", async () => {
    const chatId = await gateway.startChat();
    const peer = await Peer.ready(gateway);
    peer.subscribe("d", messages, { chatId });
    peer.subscribe("d", messages, { chatId });
    assert.equal(await peer.end(), 4409);
  });
  test("an id is one socket's own", async () => {
    const { chatId } = await watching();
    const other = await Peer.ready(gateway);
    other.subscribe("watch", messages, { chatId });
    assert.equal((await other.next()).type, "next");
  });
  test("an id is free after complete of the server", async () => {
    const peer = await Peer.ready(gateway);
    const chatId = await gateway.startChat();
    await gateway.say(chatId, "Goodbye");
    for (let round = 0; round < 3; round++) {
      peer.subscribe("again", messages, { chatId });
      const all = await peer.take(4);
      assert.deepEqual(all.map((m) => m.type), ["next", "next", "next", "complete"]);
    }
  });
  test("an id is free straight after complete of the client, and complete is not echoed", async () => {
    const { peer, chatId } = await watching();
    for (let round = 0; round < 20; round++) {
      peer.send(completed("watch"));
      peer.subscribe("watch", messages, { chatId });
      const message = await peer.next();
      assert.deepEqual([message.id, message.type], ["watch", "next"]);
    }
    assert.deepEqual(await peer.untilPong(), []);
  });
  test("nothing comes after complete of the client", async () => {
    const { peer, chatId } = await watching();
    peer.subscribe("witness", messages, { chatId });
    await peer.next();
    peer.send(completed("watch"));
    assert.deepEqual(await peer.untilPong(), []);
    for (let turn = 0; turn < 3; turn++) {
      await gateway.say(chatId, "Is there parking?");
      const seen = await peer.take(2);
      assert.deepEqual(seen.map((m) => m.id), ["witness", "witness"]);
    }
    assert.deepEqual(await peer.untilPong(), []);
  });
  test("complete for an id that nobody uses is ignored", async () => {
    const peer = await Peer.ready(gateway);
    peer.send(completed("never-begun"));
    assert.deepEqual(await peer.untilPong(), []);
  });
  test("operations run side by side", async () => {
    const { peer, chatId } = await watching();
    for (let n = 0; n < 50; n++) peer.subscribe(`q${n}`, hello);
    const finished = new Set();
    for (const message of await peer.take(100)) if (message.type === "complete") finished.add(message.id);
    assert.equal(finished.size, 50);
    await gateway.say(chatId, "Is there parking?");
    const seen = await peer.take(2);
    assert.deepEqual(seen.map((m) => [m.id, m.payload.data.simulationChatMessages.sequence]), [["watch", 2], ["watch", 3]]);
  });
  test("a socket that runs too many operations keeps those that it has", async () => {
    const { peer, chatId } = await watching();
    for (let n = 1; n < 100; n++) peer.subscribe(`s${n}`, messages, { chatId });
    await peer.take(99);
    peer.subscribe("one-too-many", messages, { chatId });
    const refused = await peer.next();
    assert.deepEqual([refused.id, refused.type], ["one-too-many", "error"]);
    assert.equal(refused.payload[0].extensions.code, "LIMIT_EXCEEDED");
    peer.send(completed("s1"));
    peer.subscribe("room-again", hello);
    assert.deepEqual(await peer.take(2), [result("room-again"), completed("room-again")]);
  });
});

describe("operations that take long", () => {
  const send = `mutation ($chatId: ID!) {
    sendSimulationMessage(input: { simulationChatId: $chatId, text: "Hello?" }) { newMessages { sequence } }
  }`;
  const model = new PromptedModel();
  let slow;
  before(async () => (slow = await startGateway({ environment: await model.listen() })));
  after(async () => {
    model.close();
    await slow?.stop();
  });
  /** Returns an acknowledged socket on which "slow" waits for the model's answer in a chat. */
  const waiting = async () => {
    const chatId = await slow.startChat();
    const peer = await Peer.ready(slow);
    peer.subscribe("slow", send, { chatId });
    return { peer, chatId, answer: await model.asked() };
  };
  /** Requires that the chat answers a message, which only works if no other turn holds it. */
  const isFree = async (chatId) => {
    const reply = slow.say(chatId, "Once more");
    const answer = await model.asked();
    answer.speak("Here I am.");
    answer.finish();
    assert.deepEqual((await reply).map((m) => m.sequence), [2, 3]);
  };

  test("they do not hold up others", async () => {
    const { peer, answer } = await waiting();
    assert.deepEqual(await peer.untilPong(), []);
    peer.subscribe("quick", hello);
    assert.deepEqual((await peer.take(2)).map((m) => [m.id, m.type]), [["quick", "next"], ["quick", "complete"]]);
    answer.speak("At last.");
    answer.finish();
    const [next, complete] = await peer.take(2);
    assert.deepEqual(next.payload.data.sendSimulationMessage.newMessages, [{ sequence: 2 }, { sequence: 3 }]);
    assert.deepEqual(complete, { id: "slow", type: "complete" });
  });
  test("4409: their id is taken", async () => {
    const { peer } = await waiting();
    peer.subscribe("slow", hello);
    await peer.endsWith(4409);
  });
  test("complete of the client stops them on the server, and nothing is sent", async () => {
    const { peer, chatId, answer } = await waiting();
    peer.send({ id: "slow", type: "complete" });
    await answer.dropped;
    await untilOpen(chatId);
    await isFree(chatId);
    assert.deepEqual(await peer.untilPong(), []);
  });
  for (const [name, leave] of Object.entries({ "closes": (peer) => peer.close(1000), "breaks off": () => Peer.endAll() })) {
    test(`a client that ${name} stops them on the server`, async () => {
      const { peer, chatId, answer } = await waiting();
      leave(peer);
      await answer.dropped;
      await untilOpen(chatId);
      await isFree(chatId);
    });
  }
  /** Resolves when the chat waits for the contact. */
  async function untilOpen(chatId) {
    const query = "query ($chatId: ID!) { simulationChat(id: $chatId) { status } }";
    while ((await slow.graphql(query, { chatId })).simulationChat.status !== "Open");
  }
});
