// GraphQL over HTTP: every audit of npm graphql-http, and tests of what they leave out.
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { buildClientSchema, getIntrospectionQuery, validateSchema } from "graphql";
import { serverAudits } from "graphql-http";
import { startGateway } from "./gateway.mjs";

const gateway = await startGateway();
after(() => gateway.stop());

const json = "application/json";
const graphql = "application/graphql-response+json";
const events = "text/event-stream";
const hello = "{ __typename }";

const post = (body, headers = {}) =>
  gateway.request("POST", "/graphql", {
    headers: { "content-type": json, accept: graphql, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
const get = (parameters, headers = {}) =>
  gateway.request("GET", `/graphql?${new URLSearchParams(parameters)}`, { headers: { accept: graphql, ...headers } });

/** Checks that nothing was executed and that the answer says why. */
function refused(answer, status, code) {
  assert.equal(answer.status, status, answer.text);
  assert.ok(!("data" in answer.json), `data in ${answer.text}`);
  assert.ok(answer.json.errors.length > 0, answer.text);
  for (const error of answer.json.errors) assert.ok(error.message, answer.text);
  if (code) assert.deepEqual(answer.codes, [code]);
}

describe("the audits of graphql-http", () => {
  const fetchWithKey = (url, init = {}) => fetch(url, { ...init, headers: { "x-api-key": gateway.key, ...init.headers } });
  for (const audit of serverAudits({ url: gateway.url, fetchFn: fetchWithKey })) {
    test(`${audit.id} ${audit.name}`, async () => {
      const verdict = await audit.fn();
      assert.equal(verdict.status, "ok", verdict.reason);
    });
  }
});

describe("media types", () => {
  const answers = {
    [`no Accept header`]: [undefined, json],
    [`anything`]: ["*/*", json],
    [`any application`]: ["application/*", json],
    [`the newer type by name`]: [graphql, graphql],
    [`both alike: the newer one`]: [`${json}, ${graphql}`, graphql],
    [`both, the older one preferred`]: [`${graphql};q=0.2, ${json};q=0.8`, json],
    [`both, the newer one preferred`]: [`${json};q=0.8, ${graphql}`, graphql],
    [`anything but the newer one`]: [`*/*, ${graphql};q=0`, json],
    [`what is known among what is not`]: [`text/csv, ${graphql};q=0.1`, graphql],
    [`a query as a stream`]: [events, events],
  };
  for (const [name, [accept, type]] of Object.entries(answers)) {
    test(`taken: ${name}`, async () => {
      for (const answer of [await post({ query: hello }, { accept }), await get({ query: hello }, { accept })]) {
        assert.equal(answer.status, 200);
        assert.equal(answer.headers["content-type"], `${type}; charset=utf-8`);
      }
    });
  }
  for (const accept of ["text/csv", "image/*", `${json};q=0`]) {
    test(`not to be had: ${accept}`, async () => {
      refused(await post({ query: hello }, { accept }), 406);
      refused(await get({ query: hello }, { accept }), 406);
    });
  }
  test("a subscription without a stream to answer it", async () => {
    refused(await post({ query: `subscription { simulationChatMessages(simulationChatId: "x") { sequence } }` }), 406);
  });

  const contents = [
    undefined, "", "text/plain", "application/graphql", "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x", `${json}; charset=utf-16`, `${json}; charset=iso-8859-1`,
  ];
  for (const type of contents) {
    test(`refused as a body: ${type}`, async () => {
      refused(await post({ query: hello }, { "content-type": type }), 415);
    });
  }
  test("refused as a body: compressed JSON", async () => {
    refused(await post({ query: hello }, { "content-encoding": "gzip" }), 415);
  });
  test("taken as a body: JSON that says it is UTF-8", async () => {
    const answer = await post({ query: hello }, { "content-type": `${json}; charset=UTF-8` });
    assert.deepEqual(answer.json, { data: { __typename: "Query" } });
  });
});

describe("methods", () => {
  for (const method of ["PUT", "PATCH", "DELETE", "OPTIONS"]) {
    test(`${method} is not allowed`, async () => {
      const answer = await gateway.request(method, "/graphql", {
        headers: { "content-type": json, accept: graphql },
        body: JSON.stringify({ query: hello }),
      });
      refused(answer, 405);
      assert.match(answer.headers.allow, /\bPOST\b/);
      assert.match(answer.headers.allow, /\bGET\b/);
    });
  }
  test("a mutation over GET is not allowed, and not executed", async () => {
    const before = await gateway.graphql("{ agents { totalCount } }");
    const answer = await get({
      query: `mutation { createAgent(input: { name: "x", channel: Web, direction: Inbound, language: "en", prompt: "x" }) { agent { id } } }`,
    });
    refused(answer, 405);
    assert.equal(answer.headers.allow, "POST");
    assert.deepEqual(await gateway.graphql("{ agents { totalCount } }"), before);
  });
  test("HEAD is GET without the body", async () => {
    const answer = await gateway.request("HEAD", `/graphql?${new URLSearchParams({ query: hello })}`, { headers: { accept: graphql } });
    assert.equal(answer.status, 200);
    assert.equal(answer.type, graphql);
    assert.equal(answer.text, "");
  });
});

describe("requests that are wrong before they are GraphQL", () => {
  const marker = "DO-NOT-REPEAT-ME";
  const bodies = {
    "nothing": "",
    "no JSON": marker,
    "JSON cut off": `{"query": "${marker}`,
    "JSON and more": `${JSON.stringify({ query: hello })} ${marker}`,
    "JSON twice": JSON.stringify({ query: hello }).repeat(2),
    "null": "null",
    "a text": JSON.stringify(marker),
    "a list": JSON.stringify([marker]),
    "a batch": JSON.stringify([{ query: hello }, { query: hello }]),
    "no query": JSON.stringify({ operationName: marker }),
    "query null": JSON.stringify({ query: null }),
    "query of another type": JSON.stringify({ query: [marker] }),
    "operationName of another type": JSON.stringify({ query: hello, operationName: [marker] }),
    "variables of another type": JSON.stringify({ query: hello, variables: marker }),
    "variables a list": JSON.stringify({ query: hello, variables: [marker] }),
    "extensions of another type": JSON.stringify({ query: hello, extensions: marker }),
    "no UTF-8": Buffer.concat([Buffer.from(`{"query":"${marker}`), Buffer.from([0xff, 0xfe]), Buffer.from(`"}`)]),
  };
  for (const [name, body] of Object.entries(bodies)) {
    test(`refused, and not repeated: ${name}`, async () => {
      for (const accept of [graphql, json]) {
        const answer = await gateway.request("POST", "/graphql", { headers: { "content-type": json, accept }, body });
        refused(answer, 400);
        assert.equal(answer.type, accept);
        assert.ok(!answer.text.includes(marker), answer.text);
      }
    });
  }
  for (const parameters of [{}, { query: "" }, { query: hello, variables: "{" }, { query: hello, extensions: "[]" }]) {
    test(`refused in a URL: ${new URLSearchParams(parameters)}`, async () => refused(await get(parameters), 400));
  }
  test("empty parameters of a URL are absent ones", async () => {
    const answer = await get({ query: hello, operationName: "", variables: "", extensions: "" });
    assert.deepEqual(answer.json, { data: { __typename: "Query" } });
  });
  test("null and unknown members are no fault", async () => {
    const answer = await post({ query: hello, operationName: null, variables: null, extensions: null, more: { of: "it" } });
    assert.deepEqual(answer.json, { data: { __typename: "Query" } });
  });
});

describe("documents that cannot be executed", () => {
  const documents = {
    "a syntax error": { query: "{" },
    "an unknown field": { query: "{ noSuchField }" },
    "an unknown operation": { query: "query A { __typename }", operationName: "B" },
    "two operations and no name": { query: "query A { __typename } query B { __typename }" },
    "a missing variable": { query: "query ($id: ID!) { agent(id: $id) { id } }" },
    "a variable of another type": { query: "query ($n: Int!) { agents(first: $n) { totalCount } }", variables: { n: "ten" } },
    "a number too large for Int": { query: "query ($n: Int!) { agents(first: $n) { totalCount } }", variables: { n: 2 ** 31 } },
    "no member of the enum": { query: "query ($f: AgentFilter) { agents(filter: $f) { totalCount } }", variables: { f: { channel: "Fax" } } },
    "an incremental delivery": { query: "{ ... @defer { __typename } }" },
  };
  for (const [name, body] of Object.entries(documents)) {
    test(`refused: ${name}`, async () => {
      refused(await post(body), 400);
      const older = await post(body, { accept: json });
      refused(older, older.status);
      assert.ok([200, 400].includes(older.status));
    });
  }
});

describe("limits", () => {
  const nested = (levels) => (levels === 1 ? "{ __typename }" : `{ ofType ${nested(levels - 1)} }`);
  test("a body over 1 MiB", async () => {
    const answer = await post({ query: hello, padding: "x".repeat(1 << 20) });
    refused(answer, 413, "LIMIT_EXCEEDED");
  });
  test("a body of just under 1 MiB", async () => {
    const answer = await post({ query: hello, padding: "x".repeat((1 << 20) - 100) });
    assert.equal(answer.status, 200);
  });
  test("a query over 32 KiB", async () => {
    refused(await post({ query: `${hello} #${"x".repeat(32 << 10)}` }), 400, "LIMIT_EXCEEDED");
  });
  test("more than 4,000 tokens", async () => {
    refused(await post({ query: `{ ${"a ".repeat(4_000)} }` }), 400, "LIMIT_EXCEEDED");
  });
  test("more than 25 levels", async () => {
    // __type is the first level, __typename the last.
    const deep = (levels) => ({ query: `{ __type(name: "Agent") ${nested(levels - 1)} }` });
    assert.equal((await post(deep(25))).status, 200);
    refused(await post(deep(26)), 400, "LIMIT_EXCEEDED");
  });
  for (const first of [0, 101, -1]) {
    test(`a page of ${first}`, async () => {
      const answer = await post({ query: `{ agents(first: ${first}) { totalCount } }` });
      assert.deepEqual(answer.codes, ["BAD_INPUT"], answer.text);
    });
  }
});

describe("credentials", () => {
  const keys = { "no key": undefined, "an empty key": "", "no key at all": "nonsense", "a key of nobody": "ag_nobody_0123456789abcdef0123456789abcdef" };
  for (const [name, key] of Object.entries(keys)) {
    test(name, async () => {
      for (const answer of [
        await post({ query: hello }, { "x-api-key": key }),
        await get({ query: hello }, { "x-api-key": key }),
        await get({ query: hello }, { "x-api-key": key, accept: events }),
      ]) {
        refused(answer, 401, "UNAUTHENTICATED");
        assert.equal(answer.headers["www-authenticate"], "ApiKey");
      }
    });
  }
  test("a revoked key, at once", async () => {
    const { createApiKey } = await gateway.graphql(
      `mutation { createApiKey(input: { name: "Short-lived", scopes: [read] }) { secret apiKey { id } } }`,
    );
    const headers = { "x-api-key": createApiKey.secret };
    assert.equal((await post({ query: "{ company { name } }" }, headers)).codes.length, 0);
    const denied = await post({ query: "{ company { apiKeys { id } } }" }, headers);
    assert.deepEqual(denied.codes, ["FORBIDDEN"]);
    await gateway.graphql(`mutation ($id: ID!) { revokeApiKey(input: { apiKeyId: $id }) { apiKey { id } } }`, {
      id: createApiKey.apiKey.id,
    });
    refused(await post({ query: "{ company { name } }" }, headers), 401, "UNAUTHENTICATED");
  });
});

describe("answers", () => {
  test("what does not exist is null beside an error with a path", async () => {
    const answer = await post({ query: `{ first: company { name } agent(id: "agent_of_nobody") { id } }` });
    assert.equal(answer.status, 200);
    assert.equal(answer.json.data.agent, null);
    assert.ok(answer.json.data.first.name);
    assert.deepEqual(answer.codes, ["NOT_FOUND"]);
    assert.deepEqual(answer.json.errors[0].path, ["agent"]);
  });
  test("every answer has a trace, a version and no guessing of types", async () => {
    const trace = "0af7651916cd43dd8448eb211c80319c";
    for (const answer of [
      await post({ query: hello }, { traceparent: `00-${trace}-b7ad6b7169203331-01` }),
      await post("{", { traceparent: `00-${trace}-b7ad6b7169203331-01` }),
    ]) {
      assert.equal(answer.headers["x-trace-id"], trace);
      assert.equal(answer.headers["x-api-version"], "v1");
      assert.equal(answer.headers["x-content-type-options"], "nosniff");
    }
  });
  test("a version that does not exist", async () => {
    refused(await post({ query: hello }, { "x-api-version": "v9" }), 400);
  });
  test("the state of the process needs no key", async () => {
    for (const path of ["/healthz", "/readyz"]) {
      const answer = await gateway.request("GET", path, { headers: { "x-api-key": undefined } });
      assert.equal(answer.status, 200);
    }
  });
  test("the schema is one that graphql-js accepts", async () => {
    const data = await gateway.graphql(
      getIntrospectionQuery({ schemaDescription: true, specifiedByUrl: true, directiveIsRepeatable: true, inputValueDeprecation: true }),
    );
    const schema = buildClientSchema(data);
    assert.deepEqual(validateSchema(schema), []);
    assert.ok(schema.getType("SimulationChat"));
  });
});
