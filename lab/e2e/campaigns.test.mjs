// The demo's campaigns over REST, and campaigns live over npm graphql-ws while a dialer works.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { createClient } from "graphql-ws";
import WebSocket from "ws";
import { startProxy } from "./described.mjs";
import { startGateway } from "./gateway.mjs";

const gateway = await startGateway();
const proxy = await startProxy(gateway);
after(() => proxy.stop());
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

const members = [
  "id", "campaignId", "createdAt", "processedAt", "lastCallDate", "nextTryDate", "runningStatus", "attemptCount", "phoneNumber",
  "dataBag", "result", "isArchived", "eventList",
];
const statuses = ["Pending", "Calling", "ProcessingResult", "Processed", "Error"];

/** Sends a REST request that must be answered with the status, as the OpenAPI document says, and returns the body. */
async function rest(status, method, path, body) {
  const answer = await gateway.request(method, proxy.url + path, {
    headers: body === undefined ? {} : { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  assert.equal(answer.status, status, answer.text);
  return answer.text === "" ? undefined : answer.json;
}

/** Reads all items of a campaign, page by page. */
async function walk(campaignId, pageSize) {
  const items = [];
  for (let pageNumber = 1; ; pageNumber++) {
    const page = await rest(200, "GET", `/CampaignItem/${campaignId}?pageNumber=${pageNumber}&pageSize=${pageSize}`);
    assert.deepEqual(Object.keys(page), ["data", "total", "pageNumber", "pageSize"]);
    items.push(...page.data);
    if (page.data.length === 0) {
      assert.equal(items.length, page.total);
      return items;
    }
  }
}

/** Counts attempts since the item was added or reset. */
const attempts = (item) =>
  item.eventList.reduce((count, { type }) => (type === "ResetCall" ? 0 : count + (type === "LaunchCall" ? 1 : 0)), 0);

/** Creates a running campaign of a new agent with `count` items, and returns its id and theirs. */
async function newCampaign(count, maxAttempts = 2) {
  const agentId = await gateway.createAgent({
    channel: "Phone", direction: "Outbound", outboundWelcomeMessage: "Hello, this is the desk.",
    classificationTags: [{ name: "Settled", definition: "The matter is settled.", isSystem: false }],
  });
  const { createCampaign } = await gateway.graphql(
    `mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) { campaign { id } } }`,
    { input: { agentId, name: "Callbacks", maxAttempts, retryDelayMinutes: 0, defaultRegion: "US" } },
  );
  const { id } = createCampaign.campaign;
  await become(id, "Running");
  const items = Array.from({ length: count }, (_, n) => ({ phoneNumber: `202-555-01${String(n).padStart(2, "0")}`, dataBag: {} }));
  const added = await rest(200, "POST", `/CampaignItem/${id}`, { items });
  return { id, items: added.items.map((item) => item.id) };
}

const become = (campaignId, status) =>
  gateway.graphql(`mutation ($input: UpdateCampaignInput!) { updateCampaign(input: $input) { campaign { id } } }`, {
    input: { campaignId, status },
  });

/** Moves an item to another status, and returns the item. */
async function advance(campaignId, itemId, to, more = {}) {
  const { advanceCampaignItem } = await gateway.graphql(
    `mutation ($input: AdvanceCampaignItemInput!) {
      advanceCampaignItem(input: $input) { item { id runningStatus attemptCount version } }
    }`,
    { input: { campaignId, itemId, to, ...more } },
  );
  return advanceCampaignItem.item;
}

describe("the demo's campaigns", () => {
  let campaigns;
  before(async () => {
    campaigns = (
      await gateway.graphql(`{ campaigns { nodes {
        id status agent { name channel classificationTags { name } extractedValues { name } }
        counts { total pending calling processingResult processed error }
      } } }`)
    ).campaigns.nodes;
  });

  test("there are four, in four states, on three channels", () => {
    assert.deepEqual(campaigns.map(({ status }) => status).sort(), ["Completed", "Draft", "Paused", "Running"]);
    assert.deepEqual(new Set(campaigns.map(({ agent }) => agent.channel)), new Set(["Phone", "SMS", "WhatsApp"]));
  });

  test("their items have histories that fit", async () => {
    const seen = new Set();
    let total = 0;
    for (const { id, agent, counts } of campaigns) {
      const items = await walk(id, 33);
      assert.equal(new Set(items.map((item) => item.id)).size, counts.total);
      assert.equal(items.filter((item) => item.runningStatus === "Processed").length, counts.processed);
      total += counts.total;
      for (const item of items) {
        assert.deepEqual(Object.keys(item), members);
        assert.equal(item.campaignId, id);
        assert.match(item.phoneNumber, /^\+(1\d{3}55501\d\d|44\d{10}|33199\d{6})$/);
        assert.equal(item.attemptCount, attempts(item));
        assert.equal(item.result !== null, item.runningStatus === "Processed");
        assert.equal(item.processedAt !== null, item.runningStatus === "Processed");
        const dates = item.eventList.map(({ date }) => date);
        assert.deepEqual(dates, dates.toSorted());
        seen.add(item.runningStatus);
        if (item.result === null) continue;
        assert.equal(item.eventList.at(-1).type, "EndCall");
        assert.ok(agent.classificationTags.some(({ name }) => name === item.result.tag.name), item.result.tag.name);
        const known = agent.extractedValues.map(({ name }) => name);
        for (const name of Object.keys(item.result.metadata)) assert.ok(known.includes(name), name);
      }
    }
    assert.equal(total, 400);
    assert.deepEqual(seen, new Set(statuses));
  });

  test("filters and single items agree with the list", async () => {
    const { id, counts } = campaigns.find(({ status }) => status === "Running");
    const expected = [counts.pending, counts.calling, counts.processingResult, counts.processed, counts.error];
    for (const [n, status] of statuses.entries()) {
      const { data, total } = await rest(200, "GET", `/CampaignItem/${id}?runningStatus=${status}&pageSize=5`);
      assert.equal(total, expected[n], status);
      for (const item of data) {
        assert.equal(item.runningStatus, status);
        assert.deepEqual(await rest(200, "GET", `/CampaignItem/${id}/${item.id}`), item);
      }
    }
  });

  test("what they used is in the breakdown, and in the plan", async () => {
    const today = new Date();
    const from = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - 11, 1));
    const day = (date) => date.toISOString().slice(0, 10);
    const breakdown = await rest(200, "GET", `/Consumption/breakdown?from=${day(from)}&to=${day(today)}`);
    // This adds up micro-credits, because decimals do not add up exactly.
    const sum = (rows) => rows.reduce((total, { credits }) => total + Math.round(credits * 1e6), 0);
    for (const axis of ["byChannel", "byMonth", "byAgent"]) {
      assert.equal(sum(breakdown[axis]), Math.round(breakdown.totalCredits * 1e6), axis);
    }
    assert.deepEqual(breakdown.byAgent.filter(({ nameStatus }) => nameStatus !== "Resolved").map(({ nameStatus }) => nameStatus), ["Deleted"]);
    const used = breakdown.byAgent.flatMap((agent) => agent.campaigns.map(({ campaignId }) => campaignId));
    assert.deepEqual(used.sort(), campaigns.filter(({ status }) => status !== "Draft").map(({ id }) => id).sort());

    const plan = await rest(200, "GET", "/Subscription");
    assert.equal(plan.status, "Active");
    assert.ok(plan.creditsIncluded > 0);
    assert.equal(plan.creditsRemaining, Math.max(0, Math.round((plan.creditsIncluded - plan.creditsUsed) * 1e6) / 1e6));
  });
});

test("an item, from its beginning to its end", async () => {
  const { id, items } = await newCampaign(1);
  const [item] = items;
  const path = `/CampaignItem/${id}/${item}`;
  assert.equal((await rest(200, "GET", path)).runningStatus, "Pending");
  await advance(id, item, "Calling");
  await rest(409, "DELETE", path);
  await advance(id, item, "ProcessingResult", { answered: true });
  await advance(id, item, "Processed", { result: { tag: { name: "Settled" }, summary: "All is well.", metadata: { calls: 1 } } });
  const done = await rest(200, "GET", path);
  assert.deepEqual(done.eventList.map(({ type }) => type), ["LaunchCall", "PickUp", "EndCall"]);
  assert.equal(done.result.tag.name, "Settled");
  assert.deepEqual(done.result.metadata, { calls: 1 });
  const again = await rest(200, "POST", `${path}/reset`);
  assert.deepEqual([again.runningStatus, again.attemptCount, again.result], ["Pending", 0, null]);
  await rest(204, "DELETE", path);
  await rest(404, "GET", path);
  await rest(404, "DELETE", path);
  const { detail } = await rest(400, "DELETE", `/CampaignItem/campaign_none/${item}`);
  assert.match(detail, /^campaign "campaign_none" does not exist/);
});

const changes = `subscription ($campaignId: ID!, $after: Int! = 0) {
  campaignItemUpdated(campaignId: $campaignId, afterVersion: $after) { id runningStatus attemptCount version eventList { type } }
}`;

/**
 * Claims items that are due and calls them. Every second contact answers, the others never do. Returns when nothing is
 * left.
 */
async function dial(campaignId) {
  for (;;) {
    const { claimCampaignItems } = await gateway.graphql(
      `mutation ($input: ClaimCampaignItemsInput!) { claimCampaignItems(input: $input) { claimId items { id phoneNumber } } }`,
      { input: { campaignId, limit: 3 } },
    );
    const { claimId, items } = claimCampaignItems;
    if (items.length === 0) return;
    for (const { id, phoneNumber } of items) {
      await advance(campaignId, id, "Calling", { claimId });
      if (Number(phoneNumber.at(-1)) % 2 === 1) {
        await advance(campaignId, id, "Pending", { answered: false, claimId });
        continue;
      }
      await advance(campaignId, id, "ProcessingResult", { answered: true, claimId });
      await advance(campaignId, id, "Processed", { result: { tag: { name: "Settled" } }, claimId });
    }
  }
}

/** Checks that a watcher saw the present state of every item last, and nothing out of order. */
async function matches(campaignId, seen) {
  const versions = seen.map(({ version }) => version);
  assert.deepEqual(versions, [...new Set(versions)].sort((a, b) => a - b));
  const last = new Map(seen.map((item) => [item.id, item]));
  const { campaign } = await gateway.graphql(
    `query ($id: ID!) { campaign(id: $id) { items { nodes { id runningStatus attemptCount version eventList { type } } } } }`,
    { id: campaignId },
  );
  assert.deepEqual(last, new Map(campaign.items.nodes.map((item) => [item.id, item]).sort((a, b) => a[1].version - b[1].version)));
}

/** Collects the items of the subscription until it completes. Calls `each` with every item as it comes. */
async function collect(client, variables, each = () => {}) {
  const all = [];
  for await (const { data, errors } of client.iterate({ query: changes, variables })) {
    assert.equal(errors, undefined, JSON.stringify(errors));
    all.push(data.campaignItemUpdated);
    each(data.campaignItemUpdated);
  }
  return all;
}

test("those who watch see every item to its end", async () => {
  const { id, items } = await newCampaign(8);
  const client = connect();
  const watchers = Array.from({ length: 5 }, () => collect(client, { campaignId: id }));
  await dial(id);
  await become(id, "Archived");
  for (const seen of await Promise.all(watchers)) {
    await matches(id, seen);
    assert.equal(new Set(seen.map((item) => item.id)).size, items.length);
    assert.ok(items.every((itemId) => seen.findLast((item) => item.id === itemId).runningStatus === "Processed"));
  }
});

test("a watcher that loses its connection again and again misses nothing", async () => {
  const { id } = await newCampaign(6);
  const dialed = dial(id).then(() => become(id, "Archived"));
  const seen = [];
  let losses = 0;
  let done = false;
  while (!done) {
    let socket;
    const client = connect({ on: { opened: (opened) => (socket = opened) } });
    const watched = collect(client, { campaignId: id, after: seen.at(-1)?.version }, (item) => {
      seen.push(item);
      if (losses++ < 12) socket.terminate();
    });
    done = await watched.then(() => true, (event) => assert.equal(event.code, 1006));
  }
  await dialed;
  await matches(id, seen);
  assert.ok(losses > 0);
});

test("a campaign that is not there, and a version that cannot be", async () => {
  for (const [variables, code] of [[{ campaignId: "campaign_none" }, "NOT_FOUND"], [{ campaignId: (await newCampaign(1)).id, after: -1 }, "BAD_INPUT"]]) {
    await assert.rejects(collect(connect(), variables), (errors) => {
      assert.deepEqual(errors.map(({ extensions }) => extensions.code), [code]);
      return true;
    });
  }
});
