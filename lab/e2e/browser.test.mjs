// What a page in a browser needs: access tokens over every transport, CORS, and headers that tell the state of the rate
// limit.
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { createClient as createSocketClient } from "graphql-ws";
import { createClient as createEventClient } from "graphql-sse";
import WebSocket from "ws";
import { startGateway } from "./gateway.mjs";

const origin = "https://console.example.com";
const messages = `subscription ($chatId: ID!) { simulationChatMessages(simulationChatId: $chatId) { sequence text isConversationEnded } }`;

const gateway = await startGateway({ environment: { AGENTGRAPH_CORS_ORIGINS: `${origin},http://localhost:5173` } });
after(() => gateway.stop());

async function newToken(scopes = "read, simulate") {
  const { createAccessToken } = await gateway.graphql(`mutation { createAccessToken(input: { scopes: [${scopes}] }) { token expiresAt } }`);
  assert.ok(Date.parse(createAccessToken.expiresAt) > Date.now());
  return createAccessToken.token;
}

/** Sends a request as a page does, with its origin and a token but no key. */
const call = (method, path, token, body) =>
  gateway.request(method, path, {
    headers: {
      "x-api-key": undefined, origin, authorization: token && `Bearer ${token}`,
      "content-type": body && "application/json", accept: "application/json",
    },
    body: body && JSON.stringify(body),
  });

describe("a page", () => {
  test("asks over HTTP, GraphQL and REST", async () => {
    const token = await newToken();
    const agentId = await gateway.createAgent();
    const answer = await call("POST", "/graphql", token, { query: "{ company { name } }" });
    assert.equal(answer.status, 200);
    assert.ok(answer.json.data.company.name);
    const agent = await call("GET", `/Agent/${agentId}`, token);
    assert.equal(agent.status, 200);
    assert.equal(agent.headers["access-control-allow-origin"], origin);
    assert.match(agent.headers["access-control-expose-headers"], /X-Trace-Id/);
    assert.equal((await call("PUT", `/Agent/${agentId}/prompt`, token, { prompt: "Mine" })).status, 403);
  });

  test("follows a chat over a socket and over events", async () => {
    const token = await newToken();
    const chatId = await gateway.startChat();
    const socket = createSocketClient({
      url: gateway.socketUrl, retryAttempts: 0, connectionParams: { authorization: `Bearer ${token}` },
      webSocketImpl: class extends WebSocket {
        constructor(url, protocols) {
          super(url, protocols, { origin });
        }
      },
    });
    const events = createEventClient({ url: gateway.url, retryAttempts: 0, headers: { Authorization: `Bearer ${token}` } });
    const follow = async (client) => {
      const seen = [];
      for await (const { data } of client.iterate({ query: messages, variables: { chatId } })) seen.push(data.simulationChatMessages.sequence);
      return seen;
    };
    const both = Promise.all([follow(socket), follow(events)]);
    await gateway.say(chatId, "Goodbye");
    assert.deepEqual(await both, [[1, 2, 3], [1, 2, 3]]);
    await socket.dispose();
    events.dispose();
  });

  test("is refused with a token that is none", async () => {
    for (const token of ["agt_nonsense", "nonsense"]) {
      const answer = await call("POST", "/graphql", token, { query: "{ company { name } }" });
      assert.equal(answer.status, 401);
      assert.deepEqual(answer.codes, ["UNAUTHENTICATED"]);
      assert.equal(answer.headers["www-authenticate"], 'Bearer error="invalid_token"');
      assert.equal(answer.headers["access-control-allow-origin"], origin, "the page may read why");
    }
  });

  test("asks first", async () => {
    for (const [method, path] of [["POST", "/graphql"], ["PUT", "/Agent/x/prompt"], ["PATCH", "/Dataset/x"], ["DELETE", "/Dataset/x"]]) {
      const headers = {
        "x-api-key": undefined, origin, "access-control-request-method": method,
        "access-control-request-headers": "authorization,content-type,graphql-require-preflight,idempotency-key",
      };
      const answer = await gateway.request("OPTIONS", path, { headers });
      assert.equal(answer.status, 204);
      assert.equal(answer.headers["access-control-allow-origin"], origin);
      assert.equal(answer.headers["access-control-allow-methods"], method);
      assert.match(answer.headers["access-control-allow-headers"], /authorization.*idempotency-key/);
      assert.equal(answer.headers["access-control-allow-credentials"], undefined);
      const stranger = await gateway.request("OPTIONS", path, { headers: { ...headers, origin: "https://evil.example" } });
      assert.equal(stranger.headers["access-control-allow-origin"], undefined);
    }
  });

  test("of another origin gets no socket", async () => {
    const socket = new WebSocket(gateway.socketUrl, "graphql-transport-ws", { origin: "https://evil.example" });
    const status = await new Promise((resolve) => {
      socket.on("unexpected-response", (_, response) => resolve(response.statusCode));
      socket.on("open", () => resolve(101));
      socket.on("error", () => {});
    });
    socket.terminate();
    assert.equal(status, 403);
  });
});

test("rate limits, of requests and of what makes a model work", async () => {
  const limited = await startGateway({ environment: { AGENTGRAPH_RATE_LIMIT: "5", AGENTGRAPH_MODEL_RATE_LIMIT: "1" } });
  try {
    const post = (query) =>
      limited.request("POST", "/graphql", { headers: { "content-type": "application/json" }, body: JSON.stringify({ query }) });
    const agentId = await limited.createAgent();
    const start = `mutation { startSimulationChat(input: { agentId: "${agentId}" }) { simulationChat { id } } }`;
    const first = await post(start);
    assert.equal(first.json.errors, undefined, first.text);
    assert.equal(first.headers["ratelimit-limit"], "1");
    assert.equal(first.headers["ratelimit-remaining"], "0");
    const second = await post(start);
    assert.equal(second.status, 429);
    assert.deepEqual(second.codes, ["RATE_LIMITED"]);
    assert.ok(Number(second.headers["retry-after"]) > 0);
    for (const left of ["1", "0"]) {
      const answer = await limited.request("GET", `/Agent/${agentId}`);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers["ratelimit-limit"], "5");
      assert.equal(answer.headers["ratelimit-remaining"], left);
    }
    const refused = await limited.request("GET", `/Agent/${agentId}`);
    assert.equal(refused.status, 429);
    assert.equal(refused.type, "application/problem+json");
    assert.equal(refused.json.code, "RATE_LIMITED");
    assert.ok(Number(refused.headers["retry-after"]) > 0);
    assert.equal((await limited.request("GET", "/readyz")).status, 200);
  } finally {
    await limited.stop();
  }
});
