// The clients that people use: Apollo, urql, Relay and gql.tada, with their caches, and a gateway that is killed.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ApolloClient, ApolloLink, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { relayStylePagination } from "@apollo/client/utilities";
import { Client as Urql, fetchExchange, subscriptionExchange } from "@urql/core";
import { cacheExchange } from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";
import { persistedExchange } from "@urql/exchange-persisted";
import UploadHttpLink from "apollo-upload-client/UploadHttpLink.mjs";
import { buildSchema, introspectionFromSchema } from "graphql";
import { createClient } from "graphql-ws";
import relay from "relay-runtime";
import WebSocket from "ws";
import { startGateway } from "./gateway.mjs";
import { resuming } from "./resuming.mjs";

const run = promisify(execFile);
const modules = fileURLToPath(new URL("node_modules", import.meta.url));
const sha256 = (text) => createHash("sha256").update(text).digest("hex");

let directory, victim, gateway, sdl, relayDirectory, artifacts;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), "agentgraph-clients-"));
  // The database server may run as another user, who must get through this directory.
  await chmod(directory, 0o711);
  gateway = await startGateway({ directory });
  for (let n = 0; n < 5; n++) await gateway.createAgent({ name: `Page ${n}` });
  sdl = (await gateway.request("GET", "/schema.graphql")).text;
  relayDirectory = await mkdtemp(join(tmpdir(), "agentgraph-relay-"));
  artifacts = await compileRelay();
});
after(async () => {
  await victim?.kill();
  await gateway?.stop();
  await rm(directory, { recursive: true, force: true });
  await rm(relayDirectory, { recursive: true, force: true });
});

/** Runs relay-compiler on the gateway's schema, and returns what loads an artifact by its name. */
async function compileRelay() {
  const write = (name, text) => writeFile(join(relayDirectory, name), text);
  await mkdir(join(relayDirectory, "src"));
  await symlink(modules, join(relayDirectory, "node_modules"));
  await write("package.json", `{"type":"commonjs"}`);
  await write("schema.graphql", sdl);
  await write("relay.config.json", JSON.stringify({ src: "./src", schema: "./schema.graphql", language: "javascript", eagerEsModules: false }));
  await write("src/Agents.js", `graphql\`
    query AgentsQuery($first: Int!) { ...Agents_list }
  \`;
  graphql\`
    fragment Agents_list on Query @refetchable(queryName: "AgentsPageQuery") @argumentDefinitions(after: { type: "String" }) {
      agents(first: $first, after: $after) @connection(key: "Agents_agents") { edges { node { id name } } }
    }
  \`;
  graphql\`
    query AgentsEndQuery($last: Int!) { ...Agents_end }
  \`;
  graphql\`
    fragment Agents_end on Query
    @refetchable(queryName: "AgentsBackQuery") @argumentDefinitions(first: { type: "Int" }, after: { type: "String" }, before: { type: "String" }) {
      agents(first: $first, after: $after, last: $last, before: $before) @connection(key: "Agents_end_agents") { edges { node { id } } }
    }
  \`;
  graphql\`
    query AgentsOneQuery($id: ID!) { agent(id: $id) { id name prompt } }
  \`;
  graphql\`
    subscription AgentsChatSubscription($chatId: ID!, $after: Int!) {
      simulationChatMessages(simulationChatId: $chatId, afterSequence: $after) { id sequence }
    }
  \`;`);
  await run(process.execPath, [join(modules, "relay-compiler/cli.js")], { cwd: relayDirectory });
  const require = createRequire(join(relayDirectory, "src/Agents.js"));
  return (name) => require(`./__generated__/${name}.graphql.js`);
}

const headers = () => ({ "X-Api-Key": gateway.key });
const agentsQuery = gql`query Agents($first: Int!, $after: String) { agents(first: $first, after: $after) { edges { node { id name } } pageInfo { endCursor hasNextPage } } }`;
const messages = `subscription Messages($chatId: ID!, $after: Int! = 0) {
  simulationChatMessages(simulationChatId: $chatId, afterSequence: $after) { id sequence }
}`;

/** Counts the requests of a fetch, and keeps what they were and what came of them. */
function watchedFetch() {
  const seen = [];
  const watched = async (url, init) => {
    const response = await fetch(url, init);
    seen.push({ method: init.method ?? "GET", body: init.body, status: response.status, type: response.headers.get("content-type") });
    return response;
  };
  return Object.assign(watched, { seen });
}

describe("Apollo", () => {
  const connect = (link) => new ApolloClient({
    link,
    cache: new InMemoryCache({ typePolicies: { Query: { fields: { agents: relayStylePagination() } } } }),
  });

  test("pages come together in the cache", async () => {
    const http = watchedFetch();
    const client = connect(new HttpLink({ uri: gateway.url, headers: headers(), fetch: http }));
    const { data } = await client.query({ query: agentsQuery, variables: { first: 2 } });
    assert.equal(data.agents.edges.length, 2);
    const query = client.watchQuery({ query: agentsQuery, variables: { first: 2 } });
    const shown = query.subscribe(() => {});
    await query.fetchMore({ variables: { after: data.agents.pageInfo.endCursor } });
    shown.unsubscribe();
    const { data: both } = await client.query({ query: agentsQuery, variables: { first: 2 } });
    assert.equal(both.agents.edges.length, 4);
    assert.equal(new Set(both.agents.edges.map(({ node }) => node.id)).size, 4);
    assert.equal(http.seen.length, 2, "the last one came from the cache");
  });

  test("queries are persisted, over GET", async () => {
    const http = watchedFetch();
    const link = ApolloLink.from([
      new PersistedQueryLink({ sha256, useGETForHashedQueries: true }),
      new HttpLink({ uri: gateway.url, headers: headers(), fetch: http }),
    ]);
    const ask = (id) => connect(link).query({ query: gql`query Persisted${id} { company { name } }` });
    for (let n = 0; n < 2; n++) assert.ok((await ask("Apollo")).data.company.name);
    assert.deepEqual(http.seen.map(({ method, status }) => [method, status]), [["GET", 200], ["POST", 200], ["GET", 200]]);
  });

  test("a file is uploaded", async () => {
    const { createDataset } = await gateway.graphql(`mutation { createDataset(input: { name: "Apollo's" }) { dataset { id } } }`);
    const client = connect(new UploadHttpLink({ uri: gateway.url, headers: { ...headers(), "GraphQL-Require-Preflight": "1" } }));
    const { data } = await client.mutate({
      mutation: gql`mutation Add($input: AddDocumentInput!) { addDocument(input: $input) { document { name } } }`,
      variables: { input: { datasetId: createDataset.dataset.id, upload: new File(["Open from nine."], "hours.txt") } },
    });
    assert.equal(data.addDocument.document.name, "hours.txt");
  });

  test("a subscription in parts, over HTTP", async () => {
    const chatId = await gateway.startChat();
    await gateway.say(chatId, "Goodbye");
    const http = watchedFetch();
    const client = connect(new HttpLink({ uri: gateway.url, headers: headers(), fetch: http }));
    const seen = [];
    await new Promise((complete, error) => client.subscribe({ query: gql(messages), variables: { chatId } })
      .subscribe({ next: ({ data }) => seen.push(data.simulationChatMessages.sequence), complete, error }));
    assert.deepEqual(seen, [1, 2, 3]);
    assert.match(http.seen[0].type, /^multipart\/mixed/);
  });
});

describe("urql", () => {
  test("graphcache joins pages, and queries are persisted", async () => {
    const http = watchedFetch();
    const client = new Urql({
      url: gateway.url, fetch: http, preferGetMethod: false, fetchOptions: { headers: headers() },
      exchanges: [
        cacheExchange({
          schema: introspectionFromSchema(buildSchema(sdl)),
          resolvers: { Query: { agents: relayPagination() } },
        }),
        persistedExchange({ preferGetForPersistedQueries: false, generateHash: async (query) => sha256(query) }),
        fetchExchange,
      ],
    });
    const page = (after) => client.query(agentsQuery, { first: 2, after }).toPromise();
    const first = await page(null);
    assert.equal(first.error, undefined, String(first.error));
    const second = await page(first.data.agents.pageInfo.endCursor);
    assert.equal(second.error, undefined, String(second.error));
    assert.equal(second.data.agents.edges.length, 4);
    assert.equal(new Set(second.data.agents.edges.map(({ node }) => node.id)).size, 4);
    const sent = http.seen.map(({ body }) => "query" in JSON.parse(body));
    assert.deepEqual(sent, [false, true, false], "the text is sent once");
  });
});

describe("Relay", () => {
  const { createOperationDescriptor, Environment, fetchQuery, getSelector, Network, RecordSource, Store } = relay;
  const environment = () => new Environment({
    store: new Store(new RecordSource()),
    network: Network.create(async ({ text }, variables) => (await gateway.ask(text, variables))),
  });

  test("a connection grows, and a node is read again", async () => {
    const store = environment();
    const [list, page, one] = ["AgentsQuery", "AgentsPageQuery", "AgentsOneQuery"].map(artifacts);
    const first = createOperationDescriptor(list, { first: 2 });
    store.retain(first);
    await fetchQuery(store, list, { first: 2 }).toPromise();
    const connection = () => {
      const root = store.lookup(first.fragment);
      return store.lookup(getSelector(artifacts("Agents_list"), root.data)).data.agents;
    };
    assert.equal(connection().edges.length, 2);
    await fetchQuery(store, page, { first: 2, after: connection().pageInfo.endCursor }).toPromise();
    assert.equal(connection().edges.length, 4);
    assert.equal(connection().pageInfo.hasNextPage, true);
    const { id } = connection().edges[3].node;
    await gateway.graphql(`mutation ($id: ID!) { updateAgent(input: { agentId: $id, name: "Renamed" }) { agent { id } } }`, { id });
    await fetchQuery(store, one, { id }, { fetchPolicy: "network-only" }).toPromise();
    assert.equal(connection().edges[3].node.name, "Renamed", "it is one record");
  });
});

test("Relay pages both ways", async () => {
  const store = new relay.Environment({
    store: new relay.Store(new relay.RecordSource()),
    network: relay.Network.create(async ({ text }, variables) => (await gateway.ask(text, variables))),
  });
  const [end, back] = ["AgentsEndQuery", "AgentsBackQuery"].map(artifacts);
  const whole = relay.createOperationDescriptor(end, { last: 2 });
  store.retain(whole);
  await relay.fetchQuery(store, end, { last: 2 }).toPromise();
  const connection = () => store.lookup(relay.getSelector(artifacts("Agents_end"), store.lookup(whole.fragment).data)).data.agents;
  // Relay sends null for what goes the other way.
  const previous = () => relay.fetchQuery(store, back, { last: 2, before: connection().pageInfo.startCursor, first: null, after: null }).toPromise();
  for (let pages = 1; connection().pageInfo.hasPreviousPage; pages++) {
    assert.equal(connection().edges.length, 2 * pages);
    await previous();
  }
  const { agents } = await gateway.graphql("{ agents(first: 100) { nodes { id } } }");
  assert.deepEqual(connection().edges.map(({ node }) => node.id), agents.nodes.map(({ id }) => id));
});

test("gql.tada types documents by the schema", async () => {
  const place = await mkdtemp(join(tmpdir(), "agentgraph-tada-"));
  try {
    await symlink(modules, join(place, "node_modules"));
    await writeFile(join(place, "schema.graphql"), sdl);
    await writeFile(join(place, "package.json"), `{"type":"module"}`);
    await writeFile(join(place, "tsconfig.json"), JSON.stringify({
      compilerOptions: {
        strict: true, noEmit: true, skipLibCheck: true, module: "nodenext", target: "es2022", types: [],
        plugins: [{ name: "gql.tada/ts-plugin", schema: "./schema.graphql", tadaOutputLocation: "./graphql-env.d.ts" }],
      },
      include: ["*.ts"],
    }));
    await writeFile(join(place, "agents.ts"), `
      import { initGraphQLTada, type ResultOf } from "gql.tada";
      import type { introspection } from "./graphql-env.d.ts";
      const graphql = initGraphQLTada<{ introspection: introspection; scalars: { DateTime: string } }>();
      const agents = graphql("query Agents { agents(first: 2) { nodes { id channel createdAt } } }");
      type Agent = ResultOf<typeof agents>["agents"]["nodes"][number];
      const good: Agent = { id: "1", channel: "Web", createdAt: "" };
      // @ts-expect-error There is no such channel.
      const bad: Agent = { id: "1", channel: "Pigeon", createdAt: "" };
      export { good, bad };
    `);
    await run(process.execPath, [join(modules, "gql.tada/bin/cli.js"), "generate-output"], { cwd: place });
    await run(process.execPath, [join(modules, "typescript/bin/tsc"), "-p", place], { cwd: place }).catch(({ stdout }) => assert.fail(stdout));
  } finally {
    await rm(place, { recursive: true, force: true });
  }
});

test("genqlient writes a client in Go", { timeout: 300_000 }, async () => {
  const folder = fileURLToPath(new URL("goclient", import.meta.url));
  await mkdir(join(folder, "queries"), { recursive: true });
  await writeFile(join(folder, "queries/schema.graphql"), sdl);
  const go = (...args) => run("go", args, { cwd: folder });
  await go("tool", "genqlient", "genqlient.yaml");
  await go("run", "./graphql", gateway.url, gateway.key, await gateway.createAgent({ name: "A Go program's" }));
});

test("every client goes on behind what it has, when its gateway is killed", async () => {
  victim = await startGateway({ directory });
  let socketUrl = victim.socketUrl;
  const chatId = await gateway.startChat();
  const sockets = [];
  const connect = () => {
    const client = createClient({
      url: () => socketUrl, webSocketImpl: WebSocket, connectionParams: headers, retryAttempts: 100, retryWait: () => new Promise((r) => setTimeout(r, 50)),
      shouldRetry: () => true,
    });
    sockets.push(client);
    return resuming(client, { variable: "after", last: (data) => data.simulationChatMessages?.sequence });
  };
  const variables = { chatId };
  const follow = {
    "graphql-ws": (sink) => connect().subscribe({ query: messages, variables }, sink),
    Apollo: (sink) => new ApolloClient({ link: new GraphQLWsLink(connect()), cache: new InMemoryCache() })
      .subscribe({ query: gql(messages), variables }).subscribe(sink),
    urql: (sink) => {
      const socket = connect();
      const forwardSubscription = ({ query, variables }) => ({ subscribe: (to) => ({ unsubscribe: socket.subscribe({ query, variables }, to) }) });
      new Urql({ url: gateway.url, preferGetMethod: false, exchanges: [subscriptionExchange({ forwardSubscription })] })
        .subscription(messages, variables).subscribe((result) => (result.error ? sink.error(result.error) : sink.next(result)));
    },
    Relay: (sink) => {
      const { Environment, Network, Observable, RecordSource, Store, requestSubscription } = relay;
      const socket = connect();
      const network = Network.create(
        () => assert.fail("nothing is fetched"),
        ({ text }, variables) => Observable.create((to) => socket.subscribe({ query: text, variables }, to)),
      );
      requestSubscription(new Environment({ network, store: new Store(new RecordSource()) }), {
        subscription: artifacts("AgentsChatSubscription"), variables: { chatId, after: 0 },
        onNext: (data) => sink.next({ data }), onError: sink.error,
      });
    },
  };
  const seen = {};
  let more = () => {};
  const reach = (count) => new Promise((resolve, reject) => {
    more = (fault) => {
      if (fault) reject(fault);
      if (Object.keys(follow).every((name) => (seen[name] ?? []).length >= count)) resolve();
    };
    more();
  });
  for (const [name, start] of Object.entries(follow)) {
    seen[name] = [];
    start({
      next: ({ data }) => { seen[name].push(data.simulationChatMessages); more(); },
      error: (fault) => more(new Error(`${name}: ${fault.message ?? JSON.stringify(fault)}`)), complete: () => {},
    });
  }
  await gateway.say(chatId, "Hi");
  await reach(3);
  await victim.kill();
  victim = undefined;
  await gateway.say(chatId, "Is there parking?");
  socketUrl = gateway.socketUrl;
  await reach(5);
  await gateway.say(chatId, "When is the desk open?");
  await reach(7);
  for (const [name, all] of Object.entries(seen)) {
    assert.deepEqual(all.map(({ sequence }) => sequence), [1, 2, 3, 4, 5, 6, 7], name);
    assert.deepEqual(all.map(({ id }) => id), all.map(({ sequence }) => `${chatId}.${sequence}`), name);
  }
  await Promise.all(sockets.map((socket) => socket.dispose()));
});

test("an EventSource goes on behind its last event", async () => {
  const chatId = await gateway.startChat();
  await gateway.say(chatId, "Goodbye");
  const parameters = new URLSearchParams({ query: messages, variables: JSON.stringify({ chatId }) });
  const read = async (last) => (await gateway.request("GET", `/graphql?${parameters}`, {
    headers: { accept: "text/event-stream", "last-event-id": last },
  })).text;
  assert.deepEqual((await read()).match(/^id: .*/gm), ["id: 1", "id: 2", "id: 3"]);
  assert.deepEqual((await read("2")).match(/^id: .*/gm), ["id: 3"]);

  // That of a browser sends no headers, so its address has a token that is good for nothing else.
  const token = async (input) => (await gateway.graphql(
    "mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { token } }", { input: { scopes: ["contacts"], ...input } },
  )).createAccessToken.token;
  const open = (access_token) => fetch(`${gateway.url}?${new URLSearchParams({ ...Object.fromEntries(parameters), access_token })}`, {
    headers: { accept: "text/event-stream", "last-event-id": "1" },
  });
  const stream = await open(await token({ subscription: "simulationChatMessages" }));
  assert.equal(stream.status, 200);
  assert.deepEqual((await stream.text()).match(/^id: .*/gm), ["id: 2", "id: 3"]);
  const other = await open(await token({ subscription: "simulationChatEvents" }));
  assert.match(await other.text(), /"the access token is valid only for the subscription simulationChatEvents".*"FORBIDDEN"/);
  for (const [status, credential] of [[403, gateway.key], [403, await token({})], [401, "agt_x"]]) {
    const refused = await open(credential);
    assert.equal(refused.status, status, await refused.text());
  }
});
