// The story of a client that was written against v1. It knows nothing but the specification and fetch. What the OpenAPI
// document describes goes through a proxy, which fails any answer that differs from it.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startProxy } from "./described.mjs";
import { startGateway } from "./gateway.mjs";

const gateway = await startGateway();
const proxy = await startProxy(gateway);
after(() => proxy.stop());
after(() => gateway.stop());

const members = {
  agent: [
    "agentId", "agentName", "channel", "direction", "language", "tags", "createdAt", "prompt", "outboundWelcomeMessage",
    "inboundWelcomeMessage", "fields", "classificationTags", "extractedValues", "isCallTransferEnabled", "tools", "subAgents",
    "knowledgeBaseChatId",
  ],
  field: ["name", "isMandatory", "isSystem"],
  classificationTag: ["name", "definition", "isSystem"],
  extractedValue: ["name", "definition", "type"],
  tool: ["id", "name", "technicalName"],
  subAgent: ["id", "name", "technicalName", "description"],
  simulationChat: ["simulationChatId", "messages", "status", "endedAt", "extracted", "extractionError", "agent"],
  message: ["role", "text", "timestamp", "isConversationEnded", "endReason"],
  connection: ["agentId", "chatId", "chatName"],
  list: ["data", "total", "pageNumber", "pageSize"],
  chat: [
    "id", "name", "datasetIds", "datasetNames", "connectedAgentCount", "llmSettings", "promptSettings", "createdAt", "updatedAt",
  ],
  llmSettings: ["temperature", "topP", "presencePenalty", "frequencyPenalty"],
  promptSettings: [
    "similarityThreshold", "keywordsSimilarityWeight", "topN", "prompt", "opener", "emptyResponse", "rerankModel", "showQuote",
  ],
  dataset: ["id", "name", "description", "chunkMethod", "parserConfig", "createdAt"],
  parserConfig: ["chunkTokenNum", "layoutRecognize", "delimiter", "taskPageSize"],
  problem: ["type", "title", "status", "detail", "instance", "code", "traceId"],
};

/** The proxy's address, or the gateway's own for what is not in the document and for bodies that the proxy cannot read. */
function addressFor(method, path, body, headers) {
  const isJSON = typeof body !== "string" && !headers["Content-Type"];
  return proxy.describes(method, path) && isJSON ? proxy.url : gateway.restUrl;
}

/** Sends a request and returns the response. */
async function call(method, path, body, headers = {}) {
  const response = await fetch(addressFor(method, path, body, headers) + path, {
    method,
    headers: { "X-Api-Key": gateway.key, ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
    body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: text && JSON.parse(text) };
}

/** Sends a request that must succeed with the status, and returns its body. */
async function succeed(status, method, path, body) {
  const answer = await call(method, path, body);
  assert.equal(answer.status, status, answer.text);
  if (status !== 204) assert.match(answer.headers.get("content-type"), /^application\/json; charset=utf-8$/);
  return answer.body;
}

const titles = {
  400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable", 409: "Conflict",
  413: "Request Entity Too Large", 415: "Unsupported Media Type", 422: "Unprocessable Entity",
};

/** Checks that the answer is a problem in the specified form, and returns its body. */
function problem(answer, status, ...faulty) {
  const { body } = answer;
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.headers.get("content-type"), /^application\/problem\+json/);
  assert.deepEqual(Object.keys(body), faulty.length > 0 ? [...members.problem, "errors"] : members.problem);
  assert.equal(body.status, status);
  assert.equal(body.title, titles[status]);
  assert.ok(body.detail.length > 0);
  assert.match(body.type, status === 400 ? /rfc7231#section-6\.5\.1$/ : /^https:\/\/.+rfc\d+/);
  assert.equal(body.traceId, answer.headers.get("x-trace-id"));
  assert.deepEqual(Object.keys(body.errors ?? {}), faulty);
  for (const texts of Object.values(body.errors ?? {})) assert.ok(texts.length > 0);
  return body;
}

const has = (object, names) => assert.deepEqual(Object.keys(object), names);
const isMoment = (text) => assert.match(text, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
function isAgent(agent) {
  has(agent, members.agent);
  isMoment(agent.createdAt);
  for (const part of agent.fields) has(part, members.field);
  for (const part of agent.classificationTags) has(part, members.classificationTag);
  for (const part of agent.extractedValues) has(part, members.extractedValue);
  for (const part of agent.tools) has(part, members.tool);
  for (const part of agent.subAgents) has(part, members.subAgent);
}
function isChat(chat) {
  has(chat, members.chat);
  has(chat.llmSettings, members.llmSettings);
  has(chat.promptSettings, members.promptSettings);
  isMoment(chat.createdAt);
}

/** The demo's agents, which every client finds at the start. */
let agents;
before(async () => {
  agents = (await gateway.graphql("{ agents { nodes { id name direction fields { name isMandatory isSystem } } } }")).agents.nodes;
});

describe("agents", () => {
  test("every one of them is what the document says", async () => {
    assert.ok(agents.length >= 8);
    const found = await Promise.all(agents.map(({ id }) => succeed(200, "GET", `/Agent/${id}`)));
    found.forEach(isAgent);
    assert.deepEqual(found.map((agent) => agent.agentId), agents.map((agent) => agent.id));
    assert.deepEqual(new Set(found.map((agent) => agent.channel)), new Set(["Phone", "SMS", "Web", "WhatsApp"]));
    assert.deepEqual(new Set(found.map((agent) => agent.direction)), new Set(["Inbound", "Outbound"]));
    for (const part of ["fields", "classificationTags", "extractedValues", "tools", "subAgents"]) {
      assert.ok(found.some((agent) => agent[part].length > 0), `no agent has ${part}`);
    }
    assert.ok(found.some((agent) => agent.isCallTransferEnabled));
    assert.ok(found.some((agent) => agent.knowledgeBaseChatId));
  });
  test("paths are matched ignoring case, ids are not", async () => {
    const [{ id }] = agents;
    assert.equal((await succeed(200, "GET", `/aGENT/${id}`)).agentId, id);
    problem(await call("GET", `/Agent/${id.toUpperCase()}`), 404);
  });
  test("a prompt is replaced", async () => {
    const id = await gateway.createAgent();
    const prompt = "Parking is “free”, <b>always</b> & for everybody 🚗.\n";
    const result = await succeed(200, "PUT", `/Agent/${id}/prompt`, { prompt });
    assert.deepEqual(Object.entries(result), [["agentId", id], ["agentName", "Front desk"], ["prompt", prompt]]);
    assert.equal((await succeed(200, "GET", `/Agent/${id}`)).prompt, prompt);
    const longest = "é".repeat(50_000);
    assert.equal((await succeed(200, "PUT", `/Agent/${id}/prompt`, { prompt: longest })).prompt, longest);
  });
  for (const [name, body] of Object.entries({
    "empty": { prompt: "" }, "too long": { prompt: "x".repeat(50_001) }, "missing": {}, "null": { prompt: null }, "a number": { prompt: 1 },
  })) {
    test(`a prompt that is ${name}`, async () => {
      const id = await gateway.createAgent();
      const { prompt } = await succeed(200, "GET", `/Agent/${id}`);
      const { detail } = problem(await call("PUT", `/Agent/${id}/prompt`, body), 400, "prompt");
      assert.match(detail, /prompt/);
      assert.equal((await succeed(200, "GET", `/Agent/${id}`)).prompt, prompt);
    });
  }
  for (const [method, path, body] of [
    ["GET", "/Agent/agent_of_nobody"],
    ["PUT", "/Agent/agent_of_nobody/prompt", { prompt: "x" }],
    ["GET", "/Agent/agent_of_nobody/chat"],
    ["PUT", "/Agent/agent_of_nobody/chat", { chatId: "chat_of_nobody" }],
    ["DELETE", "/Agent/agent_of_nobody/chat"],
    ["GET", "/SimulationChat/chat_of_nobody"],
    ["POST", "/SimulationChat/start", { agentId: "agent_of_nobody" }],
    ["POST", "/SimulationChat/send-message", { simulationChatId: "chat_of_nobody", message: "x" }],
    ["PATCH", "/KnowledgeBaseChat/chat_of_nobody", { name: "x" }],
    ["GET", "/nothing/here"],
  ]) {
    test(`404: ${method} ${path}`, async () => {
      const { instance, code } = problem(await call(method, path, body), 404);
      assert.deepEqual([instance, code], [path, "NOT_FOUND"]);
    });
  }
});

describe("the knowledge base chat of an agent", () => {
  test("connected, read, replaced, disconnected", async () => {
    const id = await gateway.createAgent();
    const { data: chats } = await succeed(200, "GET", "/KnowledgeBaseChat");
    const path = `/Agent/${id}/chat`;
    const none = { agentId: id, chatId: null, chatName: null };
    const connected = (chat) => ({ agentId: id, chatId: chat.id, chatName: chat.name });

    const first = await succeed(200, "GET", path);
    has(first, members.connection);
    assert.deepEqual(first, none);
    for (const chat of [chats[0], chats[1], chats[1]]) {
      const result = await succeed(200, "PUT", path, { chatId: chat.id });
      has(result, members.connection);
      assert.deepEqual(result, connected(chat));
      assert.deepEqual(await succeed(200, "GET", path), connected(chat));
      assert.equal((await succeed(200, "GET", `/Agent/${id}`)).knowledgeBaseChatId, chat.id);
    }
    const { data: after } = await succeed(200, "GET", "/KnowledgeBaseChat");
    const counts = (list) => list.map((chat) => chat.connectedAgentCount);
    assert.deepEqual(counts(after), counts(chats).map((count, index) => count + (index === 1 ? 1 : 0)));

    problem(await call("PUT", path, { chatId: "chat_of_nobody" }), 404);
    for (const chatId of ["", null]) problem(await call("PUT", path, { chatId }), 400, "chatId");
    assert.deepEqual(await succeed(200, "GET", path), connected(chats[1]));
    assert.equal(await succeed(204, "DELETE", path), "");
    assert.deepEqual(await succeed(200, "GET", path), none);
  });
});

describe("simulated chats", () => {
  test("started, talked to, read, ended", async () => {
    const agentId = await gateway.createAgent();
    const started = await succeed(200, "POST", "/SimulationChat/start", { agentId });
    has(started, members.simulationChat);
    isAgent(started.agent);
    assert.equal(started.agent.agentId, agentId);
    assert.deepEqual(started.messages.map((m) => [m.role, m.text]), [["assistant", "Hello, how can I help?"]]);
    const { simulationChatId } = started;

    const send = (message) => succeed(200, "POST", "/SimulationChat/send-message", { simulationChatId, message });
    const answered = await send("Is there parking?");
    has(answered, members.simulationChat);
    assert.deepEqual(answered.messages.slice(0, 1), started.messages);
    assert.deepEqual(answered.messages.map((m) => m.role), ["assistant", "user", "assistant"]);
    assert.equal(answered.messages[1].text, "Is there parking?");
    for (const message of answered.messages) {
      has(message, members.message);
      isMoment(message.timestamp);
      assert.equal(message.isConversationEnded, false);
      assert.equal(message.endReason, null);
    }
    assert.deepEqual(await succeed(200, "GET", `/SimulationChat/${simulationChatId}`), answered);

    const ended = await send("Goodbye");
    assert.deepEqual(ended.messages.map((m) => m.isConversationEnded), [false, false, false, false, true]);
    assert.ok(ended.messages.at(-1).endReason);
    assert.deepEqual(await succeed(200, "GET", `/SimulationChat/${simulationChatId}`), ended);
    problem(await call("POST", "/SimulationChat/send-message", { simulationChatId, message: "Wait" }), 409);
  });
  test("every agent of the demo greets with its placeholders filled", async () => {
    for (const { id, fields } of agents) {
      const mandatory = fields.filter((field) => field.isMandatory && !field.isSystem).map((field) => field.name);
      const dataBag = Object.fromEntries(fields.filter((field) => !field.isSystem).map(({ name }) => [name, `the ${name}`]));
      const { messages } = await succeed(200, "POST", "/SimulationChat/start", { agentId: id, dataBag });
      for (const { text } of messages) assert.doesNotMatch(text, /\{\w+\}/);
      if (mandatory.length > 0) {
        const answer = await call("POST", "/SimulationChat/start", { agentId: id });
        problem(answer, 422, ...mandatory.map((name) => `dataBag.${name}`).sort());
      }
    }
  });
  for (const [name, body, ...faulty] of [
    ["no agent", {}, "agentId"],
    ["an empty agent", { agentId: "" }, "agentId"],
    ["a data bag of numbers", { agentId: "x", dataBag: { a: 1 } }, "dataBag.a"],
    ["an unknown property", { agentId: "x", agent: 1 }, "agent"],
    ["an unknown property of toolMocking", { agentId: "x", toolMocking: { mockEverything: true } }, "toolMocking.mockEverything"],
    ["a delay above its bound", { agentId: "x", toolMocking: { mockedTools: [{ toolId: "t", delaySeconds: 61 }] } },
      "toolMocking.mockedTools.0.delaySeconds"],
  ]) {
    test(`422 at the start: ${name}`, async () => {
      problem(await call("POST", "/SimulationChat/start", body), 422, ...faulty);
    });
  }
  test("422 at the start: no JSON", async () => {
    const answer = await call("POST", "/SimulationChat/start", "{DO-NOT-REPEAT-ME");
    problem(answer, 422);
    assert.ok(!answer.text.includes("DO-NOT-REPEAT-ME"));
  });
  for (const [name, body, ...faulty] of [
    ["no message", {}, "message"],
    ["an empty message", { message: "" }, "message"],
    ["a message that is too long", { message: "x".repeat(4_001) }, "message"],
    ["an unknown property", { message: "x", text: "y" }, "text"],
  ]) {
    test(`400 in a chat: ${name}`, async () => {
      const simulationChatId = await gateway.startChat();
      problem(await call("POST", "/SimulationChat/send-message", { simulationChatId, ...body }), 400, ...faulty);
      assert.equal((await succeed(200, "GET", `/SimulationChat/${simulationChatId}`)).messages.length, 1);
    });
  }
});

describe("lists", () => {
  test("knowledge base chats", async () => {
    const list = await succeed(200, "GET", "/KnowledgeBaseChat");
    has(list, members.list);
    assert.ok(list.total >= 2);
    assert.deepEqual([list.data.length, list.pageNumber, list.pageSize], [list.total, 1, 50]);
    list.data.forEach(isChat);
  });
  test("datasets, page by page", async () => {
    for (let n = 0; n < 5; n++) await succeed(200, "POST", "/Dataset", { name: `Page ${n}` });
    const all = await succeed(200, "GET", "/Dataset?pageSize=100");
    has(all, members.list);
    assert.equal(all.data.length, all.total);
    for (const dataset of all.data) {
      has(dataset, members.dataset);
      has(dataset.parserConfig, members.parserConfig);
      isMoment(dataset.createdAt);
    }
    const byAge = all.data.map((dataset) => dataset.createdAt);
    assert.deepEqual(byAge, byAge.toSorted().reverse());

    const paged = [];
    const last = Math.ceil(all.total / 3);
    for (let pageNumber = 1; pageNumber <= last + 1; pageNumber++) {
      const page = await succeed(200, "GET", `/Dataset?pageNumber=${pageNumber}&pageSize=3`);
      assert.deepEqual([page.total, page.pageNumber, page.pageSize], [all.total, pageNumber, 3]);
      assert.ok(page.data.length === 3 || pageNumber >= last);
      paged.push(...page.data);
    }
    assert.deepEqual(paged, all.data);
    const far = await succeed(200, "GET", "/Dataset?pageNumber=2147483647&pageSize=100");
    assert.deepEqual([far.data, far.total, far.pageNumber], [[], all.total, 2147483647]);
  });
  for (const path of ["/Dataset", "/KnowledgeBaseChat"]) {
    for (const [query, ...faulty] of [
      ["pageNumber=0", "pageNumber"], ["pageNumber=-1", "pageNumber"], ["pageNumber=x", "pageNumber"], ["pageNumber=2147483648", "pageNumber"],
      ["pageSize=0", "pageSize"], ["pageSize=101", "pageSize"], ["pageSize=1.5", "pageSize"], ["pageNumber=&pageSize=", "pageNumber", "pageSize"],
    ]) {
      test(`400: ${path}?${query}`, async () => problem(await call("GET", `${path}?${query}`), 400, ...faulty));
    }
  }
});

describe("datasets and knowledge base chats", () => {
  test("a dataset is created with what is left out filled in", async () => {
    const answer = await call("POST", "/Dataset", { name: "Handbook" });
    assert.equal(answer.status, 200, answer.text);
    const dataset = answer.body;
    has(dataset, members.dataset);
    assert.equal(answer.headers.get("location"), `/Dataset/${dataset.id}`);
    assert.deepEqual({ ...dataset, id: "", createdAt: "" }, {
      id: "", name: "Handbook", description: null, chunkMethod: "naive", createdAt: "",
      parserConfig: { chunkTokenNum: 512, layoutRecognize: true, delimiter: "\n", taskPageSize: 12 },
    });
    const { data } = await succeed(200, "GET", "/Dataset?pageSize=1");
    assert.deepEqual(data, [dataset]);
  });
  for (const [name, body, ...faulty] of [
    ["no name", {}, "name"],
    ["a name that is too long", { name: "x".repeat(256) }, "name"],
    ["an unknown chunk method", { name: "x", chunkMethod: "slices" }, "chunkMethod"],
    ["a parser setting out of its bounds", { name: "x", parserConfig: { chunkTokenNum: 2049 } }, "parserConfig.chunkTokenNum"],
    ["two faults", { name: "", parserConfig: { taskPageSize: 0 } }, "name", "parserConfig.taskPageSize"],
  ]) {
    test(`400 for a dataset: ${name}`, async () => problem(await call("POST", "/Dataset", body), 400, ...faulty));
  }
  test("a chat keeps what a change leaves out", async () => {
    const { createKnowledgeBaseChat } = await gateway.graphql(
      `mutation { createKnowledgeBaseChat(input: { name: "Help" }) { knowledgeBaseChat { id } } }`,
    );
    const path = `/KnowledgeBaseChat/${createKnowledgeBaseChat.knowledgeBaseChat.id}`;
    const datasets = [];
    for (const name of ["One", "Two"]) datasets.push(await succeed(200, "POST", "/Dataset", { name }));
    const [one, two] = datasets.map((dataset) => dataset.id);

    const before = await succeed(200, "PATCH", path, {});
    isChat(before);
    assert.deepEqual(before.llmSettings, { temperature: 0.1, topP: 0.3, presencePenalty: 0.4, frequencyPenalty: 0.7 });
    const renamed = await succeed(200, "PATCH", path, { name: "Better help", llmSettings: { topP: 1 }, promptSettings: null });
    assert.deepEqual(renamed, {
      ...before, name: "Better help", llmSettings: { ...before.llmSettings, topP: 1 }, updatedAt: renamed.updatedAt,
    });
    isMoment(renamed.updatedAt);

    const connected = await succeed(200, "PATCH", path, { datasetIds: [two, one, two], promptSettings: { prompt: "Use {knowledge}." } });
    assert.deepEqual([connected.datasetIds, connected.datasetNames], [[two, one], ["Two", "One"]]);
    assert.deepEqual((await succeed(200, "PATCH", path, { name: null })).datasetIds, [two, one]);
    assert.deepEqual((await succeed(200, "PATCH", path, { datasetIds: [] })).datasetIds, []);
    problem(await call("PATCH", path, { datasetIds: ["dataset_of_nobody"] }), 404);
    problem(await call("PATCH", path, { name: "" }), 400, "name");
    problem(await call("PATCH", path, { llmSettings: { temperature: 2.1 } }), 400, "llmSettings.temperature");
    problem(await call("PATCH", path, { promptSettings: { topN: 1.5 } }), 400, "promptSettings.topN");
    problem(await call("PATCH", path, { promptSettings: { rerankModel: "no-such-model" } }), 422, "promptSettings.rerankModel");
  });
});

describe("the wire", () => {
  for (const key of [undefined, "", "wrong"]) {
    test(`401: the key ${key}`, async () => {
      const response = await fetch(`${gateway.restUrl}/Dataset`, { headers: key === undefined ? {} : { "X-Api-Key": key } });
      problem({ status: response.status, headers: response.headers, body: await response.json() }, 401);
      assert.equal(response.headers.get("www-authenticate"), "ApiKey");
    });
  }
  for (const type of ["application/json", "application/json; charset=utf-8", "text/json", "application/vnd.example+json"]) {
    test(`taken: ${type}`, async () => {
      const answer = await call("POST", "/Dataset", { name: type }, { "Content-Type": type });
      assert.equal(answer.status, 200, answer.text);
    });
  }
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/xml"]) {
    test(`415: ${type}`, async () => problem(await call("POST", "/Dataset", { name: "x" }, { "Content-Type": type }), 415));
  }
  test("an answer in XML is one in JSON", async () => assert.equal((await call("GET", "/Dataset", undefined, { Accept: "application/xml" })).status, 200));
  test("406: no JSON", async () => problem(await call("GET", "/Dataset", undefined, { Accept: "application/json;q=0" }), 406));
  test("413: a body over 1 MiB", async () => problem(await call("POST", "/Dataset", { name: "x".repeat(1 << 20) }), 413));
  for (const body of ["", "{", "[]", "null", `{"name":"x"} {}`]) {
    test(`400: the body ${body}`, async () => problem(await call("POST", "/Dataset", body), 400));
  }
  test("400: a version that does not exist", async () => {
    problem(await call("GET", "/Dataset", undefined, { "X-Api-Version": "v2" }), 400);
  });
  for (const [method, path, allow] of [["DELETE", "/Dataset", "GET, HEAD, POST"], ["POST", "/Agent/x", "GET, HEAD"]]) {
    test(`405: ${method} ${path}`, async () => {
      const answer = await call(method, path);
      problem(answer, 405);
      assert.equal(answer.headers.get("allow"), allow);
    });
  }
  test("every answer says its version and its trace", async () => {
    for (const path of ["/Dataset", "/Dataset?pageSize=0"]) {
      const { headers } = await call("GET", path);
      assert.equal(headers.get("x-api-version"), "v1");
      assert.match(headers.get("x-trace-id"), /^[0-9a-f]{32}$/);
    }
  });
});
