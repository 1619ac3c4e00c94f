// GraphQL over server-sent events, in the distinct connections mode: npm graphql-sse with real simulated chats, and the
// stream as it is on the wire.
import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { createClient } from "graphql-sse";
import { startGateway } from "./gateway.mjs";

const messages = `subscription ($chatId: ID!, $after: Int! = 0) {
  simulationChatMessages(simulationChatId: $chatId, afterSequence: $after) { sequence role text isConversationEnded }
}`;

const gateway = await startGateway();
after(() => gateway.stop());

const clients = [];
afterEach(() => clients.splice(0).forEach((client) => client.dispose()));
function connect(options = {}) {
  const client = createClient({ url: gateway.url, headers: { "X-Api-Key": gateway.key }, retryAttempts: 0, ...options });
  clients.push(client);
  return client;
}

/** Yields the results of the operation. */
async function* results(client, query, variables) {
  for await (const { data, errors } of client.iterate({ query, variables })) {
    assert.equal(errors, undefined, JSON.stringify(errors));
    yield Object.values(data)[0];
  }
}

/** Collects the results of the operation until it completes. */
async function collect(client, query, variables) {
  const all = [];
  for await (const result of results(client, query, variables)) all.push(result);
  return all;
}

const numbers = (count) => Array.from({ length: count }, (_, index) => index + 1);

test("a chat, live: every message once, in order, until the agent ends it", async () => {
  const chatId = await gateway.startChat();
  const said = ["Hi", "Is there parking?", "Thanks", "Goodbye"];
  const seen = [];
  for await (const message of results(connect(), messages, { chatId })) {
    seen.push(message);
    // The contact answers each message that it sees, and nothing else sets the pace.
    if (message.role === "assistant" && said.length > 0) gateway.say(chatId, said.shift());
  }
  assert.deepEqual(seen.map((m) => m.sequence), numbers(9));
  assert.deepEqual(seen.filter((m) => m.isConversationEnded).map((m) => m.sequence), [9]);
});

test("a client that comes back behind its last message misses nothing and sees nothing twice", async () => {
  const chatId = await gateway.startChat();
  const said = ["Hi", "Is there parking?", "When is the desk open?", "Is there parking?", "Thanks", "Goodbye"];
  const conversation = (async () => {
    for (const text of said) await gateway.say(chatId, text);
  })();
  const sequences = [];
  for (let ended = false; !ended; ) {
    // The connection ends after one message.
    for await (const message of results(connect(), messages, { chatId, after: sequences.length })) {
      sequences.push(message.sequence);
      ended = message.isConversationEnded;
      break;
    }
  }
  await conversation;
  assert.deepEqual(sequences, numbers(13));
  assert.deepEqual(await collect(connect(), messages, { chatId, after: 13 }), []);
});

test("events of a chat that has ended: the end", async () => {
  const chatId = await gateway.startChat();
  await gateway.say(chatId, "Goodbye");
  const [end, ...more] = await collect(
    connect(),
    "subscription ($chatId: ID!) { simulationChatEvents(simulationChatId: $chatId) { __typename ... on ChatEnded { endReason } } }",
    { chatId },
  );
  assert.equal(end.__typename, "ChatEnded");
  assert.ok(end.endReason);
  assert.deepEqual(more, []);
});

test("a query and a mutation have one result", async () => {
  const [company] = await collect(connect(), "{ company { name } }");
  assert.ok(company.name);
  const chatId = await gateway.startChat();
  const ended = await collect(
    connect(),
    `mutation ($id: ID!) { endSimulationChat(input: { simulationChatId: $id }) { simulationChat { status } } }`,
    { id: chatId },
  );
  assert.deepEqual(ended, [{ simulationChat: { status: "Ended" } }]);
});

test("mistakes are results without data", async () => {
  const mistakes = [
    ["{", undefined, "GRAPHQL_PARSE_FAILED"],
    ["{ noSuchField }", undefined, "GRAPHQL_VALIDATION_FAILED"],
    [messages, { chatId: "chat_of_nobody" }, "NOT_FOUND"],
  ];
  for (const [query, variables, code] of mistakes) {
    const seen = [];
    for await (const result of connect().iterate({ query, variables })) seen.push(result);
    assert.equal(seen.length, 1);
    assert.ok(!("data" in seen[0]), JSON.stringify(seen));
    assert.deepEqual(seen[0].errors.map((e) => e.extensions.code), [code]);
  }
});

test("a wrong key is an answer of another kind", async () => {
  const client = connect({ headers: { "X-Api-Key": "wrong" } });
  await assert.rejects(collect(client, "{ company { name } }"), (error) => error.response.status === 401);
});

for (const method of ["GET", "POST"]) {
  test(`the stream on the wire, over ${method}`, async () => {
    const chatId = await gateway.startChat();
    await gateway.say(chatId, "Goodbye");
    const request = { query: messages, variables: { chatId } };
    const parameters = new URLSearchParams({ query: messages, variables: JSON.stringify(request.variables) });
    const answer =
      method === "GET"
        ? await gateway.request("GET", `/graphql?${parameters}`, { headers: { accept: "text/event-stream" } })
        : await gateway.request("POST", "/graphql", {
            headers: { accept: "text/event-stream", "content-type": "application/json" },
            body: JSON.stringify(request),
          });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers["content-type"], "text/event-stream; charset=utf-8");
    assert.match(answer.headers["cache-control"], /no-store/);
    const events = answer.text.split("\n\n").filter((event) => event !== "" && !event.startsWith(":"));
    assert.equal(events.length, 4, answer.text);
    events.slice(0, 3).forEach((event, index) => {
      const [, id, data] = /^event: next\nid: (\d+)\ndata: (.*)$/s.exec(event);
      assert.equal(id, String(index + 1));
      assert.equal(JSON.parse(data).data.simulationChatMessages.sequence, index + 1);
    });
    // Without a data line, an EventSource would not deliver it.
    assert.match(events[3], /^event: complete\ndata:/);
  });
}
