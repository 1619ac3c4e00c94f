import type { Gateway } from "./gateway";

interface Demo {
  agents: { nodes: { id: string; name: string; testExecutions: { nodes: { id: string }[] }; tests: { nodes: { id: string; lastRunId: string | null; lastRunStatus: string }[] } }[] };
  knowledgeBaseChats: { nodes: { id: string; name: string }[] };
  documents: { nodes: { id: string; datasetId: string; name: string }[] };
  campaigns: { nodes: { id: string; status: string }[] };
}

/** Returns the address of each page on the demo's data, relative to the console's. */
export async function pagesOf(gateway: Gateway): Promise<Record<string, string>> {
  const demo = await gateway.ask<Demo>(`{
    agents { nodes { id name testExecutions(first: 2) { nodes { id } } tests { nodes { id lastRunId lastRunStatus } } } }
    knowledgeBaseChats { nodes { id name } }
    documents(first: 1) { nodes { id datasetId name } }
    campaigns { nodes { id status } }
  }`);
  const agent = (name: string) => {
    const found = demo.agents.nodes.find((a) => a.name === name);
    if (!found) throw new Error(`the demo has no ${name}`);
    return found;
  };
  const clinic = agent("Clinic reception");
  const failed = clinic.tests.nodes.find((test) => test.lastRunStatus === "Failed");
  const [head, base] = clinic.testExecutions.nodes;
  const manuals = demo.knowledgeBaseChats.nodes.find((chat) => chat.name.includes("manuals"));
  const [document] = demo.documents.nodes;
  return {
    home: "",
    agents: "agents",
    graph: "agents?view=graph",
    agent: `agents/${clinic.id}`,
    versions: `agents/${clinic.id}/versions`,
    connections: `agents/${clinic.id}/connections`,
    settings: `agents/${clinic.id}/settings`,
    "tests-of-agent": `agents/${clinic.id}/tests`,
    "chats-of-agent": `agents/${clinic.id}/chats`,
    chats: "chats",
    "new-chat": `chats/new?agent=${agent("Product help").id}`,
    chat: `chats/${await chatWith(gateway, agent("Product help").id)}`,
    "all-tests": "tests",
    tests: `tests?agent=${clinic.id}`,
    "test-editor": `tests?agent=${clinic.id}&edit=${failed?.id}`,
    blame: `tests/${failed?.id}/blame`,
    run: `runs/${failed?.lastRunId}`,
    compare: `compare?base=${base?.id}&head=${head?.id}`,
    variants: `compare?variants=${await variants(gateway, clinic.id)}`,
    knowledge: "knowledge",
    dataset: `knowledge/datasets/${document?.datasetId}`,
    document: `knowledge/documents/${document?.id}`,
    retrieval: `knowledge/chats/${manuals?.id}?q=${encodeURIComponent("Can I use vinegar to descale the ketle?")}`,
    campaigns: "campaigns",
    campaign: `campaigns/${demo.campaigns.nodes.find((campaign) => campaign.status === "Running")?.id}`,
    consumption: "consumption",
    schedules: await schedules(gateway, clinic.id, base?.id),
    keys: "keys",
    webhooks: "webhooks",
    explore: "explore",
    missing: "agents/agent_unknown",
  };
}

/** Makes a schedule of the agent's tests, and returns the address of the page. */
async function schedules(gateway: Gateway, agentId: string, baselineId: string | undefined): Promise<string> {
  await gateway.ask(`mutation($input: CreateAgentTestScheduleInput!) { createAgentTestSchedule(input: $input) { schedule { id } } }`, {
    input: { name: "Nightly", agentId, repeats: 3, cron: "0 3 * * 1-5", timeZone: "Europe/Berlin", afterPromptChange: true, baselineId },
  });
  return `schedules?agent=${agentId}`;
}

/** Holds a chat with a citation and a call, and returns its id. */
async function chatWith(gateway: Gateway, agentId: string): Promise<string> {
  const { startSimulationChat } = await gateway.ask<{ startSimulationChat: { simulationChat: { id: string } } }>(
    `mutation($input: StartSimulationChatInput!) { startSimulationChat(input: $input) { simulationChat { id } } }`,
    { input: { agentId, dataBag: { productName: "Brook kettle", serialNumber: "MH-K72B40QX" }, toolMocking: { mockAllTools: true, sideEffects: "Deny" } } },
  );
  const id = startSimulationChat.simulationChat.id;
  for (const text of ["Can the kettle keep water warm?", "Check the warranty of my kettle please."]) {
    await gateway.ask(`mutation($input: SendSimulationMessageInput!) { sendSimulationMessage(input: $input) { newMessages { sequence } } }`, {
      input: { simulationChatId: id, text },
    });
  }
  return id;
}

/** Runs the agent's tests with its prompt, an earlier one and a draft, and returns the execution's id. */
async function variants(gateway: Gateway, agentId: string): Promise<string> {
  const started = await gateway.ask<{ startAgentTestExecution: { execution: { id: string } } }>(
    `mutation ($input: StartAgentTestExecutionInput!) { startAgentTestExecution(input: $input) { execution { id } } }`,
    { input: { agentId, repeats: 4, concurrency: 50, variants: [{ label: "now" }, { label: "version 1", promptVersion: 1 }, { label: "short draft", prompt: "Book visits." }] } },
  );
  const { id } = started.startAgentTestExecution.execution;
  const isOver = async () => (await gateway.ask<{ agentTestExecution: { finishedAt: string | null } }>(`query ($id: ID!) { agentTestExecution(id: $id) { finishedAt } }`, { id })).agentTestExecution.finishedAt;
  while (!(await isOver())) await new Promise((resolve) => setTimeout(resolve, 200));
  return id;
}
