import { lazy, Suspense } from "react";
import { Link, useParams } from "wouter";
import { useAction, useGo, usePage } from "../api/page";
import { Act, may } from "../ui/Act";
import { count } from "../ui/format";
import { Page, Tabs } from "../ui/Page";
import { Failure, Loading, NotFound, Shown } from "../ui/states";
import { AgentPrompt } from "./agent/AgentPrompt";
import { AgentQuery, type AgentOfPage } from "./agent/query";
import { RunTests } from "./tests/RunButtons";

const AgentVersions = lazy(() => import("./agent/AgentVersions"));
const AgentConnections = lazy(() => import("./agent/AgentConnections"));
const AgentSettings = lazy(() => import("./agent/AgentSettings"));

/** How often each test is run from here. */
const repeats = 5;

/** An agent: its prompt and test results, with everything else about it in tabs. */
export default function Agent() {
  const { id = "", tab = "prompt" } = useParams<{ id: string; tab?: string }>();
  const answer = usePage(AgentQuery, { id, seesPrompt: may("prompts") }, { keeps: true });
  return (
    <Shown answer={answer} missing={`agent ${id}`}>
      {({ agent }) => agent && <AgentPage agent={agent} tab={tab} />}
    </Shown>
  );
}

function AgentPage({ agent, tab }: { agent: AgentOfPage; tab: string }) {
  const to = `/agents/${agent.id}`;
  const tabs = [
    { key: "prompt", to, text: "Prompt" },
    { key: "versions", to: `${to}/versions`, text: `Versions ${agent.promptVersion}` },
    { key: "connections", to: `${to}/connections`, text: `Connections ${agent.tools.length + agent.subAgents.length + (agent.knowledgeBaseChat ? 1 : 0)}` },
    { key: "settings", to: `${to}/settings`, text: "Settings" },
    { key: "tests", to: `/tests?agent=${agent.id}`, text: `Tests ${count(agent.tests.totalCount)}` },
    { key: "chats", to: `/chats?agent=${agent.id}`, text: `Chats ${count(agent.simulationChats.totalCount)}` },
  ];
  const shown = { prompt: AgentPrompt, versions: AgentVersions, connections: AgentConnections, settings: AgentSettings }[tab];
  if (!shown) return <NotFound />;
  const Tab = shown;
  return (
    <Page
      title={agent.name}
      crumbs={[{ to: "/agents", text: "Agents" }]}
      facts={
        <>
          <span>
            {agent.channel} · {agent.direction} · {agent.language}
          </span>
          {agent.tags.map((tag) => (
            <Link key={tag} href={`/agents?tag=${encodeURIComponent(tag)}`}>
              #{tag}
            </Link>
          ))}
        </>
      }
      actions={
        <>
          {agent.tests.totalCount > 0 && <RunAll agentId={agent.id} />}
          <Link className="button primary" href={`/chats/new?agent=${agent.id}`}>
            New chat
          </Link>
        </>
      }
    >
      <Tabs label="Agent" tabs={tabs} current={tab} />
      <Suspense fallback={<Loading />}>
        <Tab key={agent.id} agent={agent} />
      </Suspense>
    </Page>
  );
}

/** Runs all tests of the agent, often enough to distinguish chance from change. */
function RunAll({ agentId }: { agentId: string }) {
  const start = useAction(RunTests);
  const go = useGo();
  const run = async () => {
    const made = await start.run({ input: { agentId, repeats } });
    if (made?.startAgentTestExecution) go(`/tests?agent=${agentId}&execution=${made.startAgentTestExecution.execution.id}`);
  };
  return (
    <>
      {start.error && <Failure error={start.error} />}
      <Act scope="simulate" disabled={start.isBusy} onClick={() => void run()}>
        Run tests ×{repeats}
      </Act>
    </>
  );
}
