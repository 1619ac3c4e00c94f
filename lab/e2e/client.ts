// A client with the types that openapi-typescript writes from the OpenAPI document. tsc checks that they fit, and
// openapi.test.mjs runs it.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./v1.js";

type AgentTest = components["schemas"]["AgentTest"];

/** Uses each area of the REST API once, with a new agent. */
export async function useClient(baseUrl: string, key: string, agentId: string): Promise<void> {
  const client = createClient<paths>({ baseUrl, headers: { "X-Api-Key": key } });

  const agent = await client.GET("/Agent/{agentId}", { params: { path: { agentId } } });
  assert.equal(agent.data?.agentId, agentId);
  const channel: "Phone" | "SMS" | "Web" | "WhatsApp" | undefined = agent.data?.channel;
  assert.equal(channel, "Web");

  const started = await client.POST("/SimulationChat/start", { body: { agentId, toolMocking: { mockAllTools: true } } });
  const simulationChatId = started.data?.simulationChatId ?? assert.fail();
  const answered = await client.POST("/SimulationChat/send-message", { body: { simulationChatId, message: "Is there parking?" } });
  assert.deepEqual(answered.data?.messages.map(({ role }) => role), ["assistant", "user", "assistant"]);

  const made = await client.POST("/AgentTest/simulation", {
    body: { agentId, name: "Parking", scenario: "Asks for parking", criteria: ["Names the price"] },
    params: { header: { "Idempotency-Key": "client-1" } },
  });
  assert.equal(made.data?.maxTurns, 10);
  const tests = await client.GET("/AgentTest", { params: { query: { agentId, pageSize: 10 } } });
  assert.deepEqual(tests.data?.data.map(criteriaOf), [["Names the price"]]);
  const execution = await client.POST("/AgentTestExecution", { body: { agentId, repeats: 2, virtualTime: true } });
  const executionId = execution.data?.id ?? assert.fail();
  assert.equal((await client.GET("/AgentTestRun", { params: { query: { executionId } } })).data?.total, 2);

  const dataset = await client.POST("/Dataset", { body: { name: "Prices" } });
  const datasetId = dataset.data?.id ?? assert.fail();
  const document = await client.POST("/Dataset/{datasetId}/document", {
    params: { path: { datasetId } }, body: { name: "Parking.md", text: "Parking is 10 a day." },
  });
  assert.equal(document.data?.datasetId, datasetId);
  const gone = await client.DELETE("/Dataset/{datasetId}", { params: { path: { datasetId } } });
  assert.equal(gone.response.status, 204);

  const refused = await client.POST("/Dataset", { body: { name: "" } });
  assert.equal(refused.error?.code, "BAD_INPUT");
  assert.ok(refused.error?.errors?.["name"]?.length);
  const missing = await client.GET("/Dataset/{datasetId}", { params: { path: { datasetId } } });
  assert.equal(missing.error?.status, 404);
  // @ts-expect-error: the types know no such parameter, and neither does the gateway.
  const guessed = await client.GET("/Dataset", { params: { query: { page: 2 } } });
  assert.match(guessed.error?.errors?.["page"]?.[0] ?? "", /pageNumber, pageSize/);
}

/** Tells the kinds of tests apart. */
function criteriaOf(test: AgentTest): string[] {
  return test.kind === "Simulation" ? test.criteria : [];
}
