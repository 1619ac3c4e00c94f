import { lazy, Suspense, useState } from "react";
import { useParams, useSearchParams } from "wouter";
import { graphql } from "../api/graphql";
import { useAction, useGo, usePage } from "../api/page";
import { Act, may } from "../ui/Act";
import { Icon } from "../ui/Icon";
import { errorText, Loading, NotFound, Shown } from "../ui/states";
import { toast } from "../ui/toasts";
import { AgentFrame } from "./agent/AgentFrame";
import { AgentPrompt } from "./agent/AgentPrompt";
import { AgentQuery, type AgentOfPage } from "./agent/query";
import { ChatList } from "./chat/ChatList";
import { RunConfirmation, useRun } from "./tests/RunButtons";

const AgentVersions = lazy(() => import("./agent/AgentVersions"));
const AgentConnections = lazy(() => import("./agent/AgentConnections"));
const AgentSettings = lazy(() => import("./agent/AgentSettings"));
const TestsOf = lazy(() => import("./tests/TestsOf"));

const DuplicateAgent = graphql(`
  mutation DuplicateAgent($input: DuplicateAgentInput!) {
    duplicateAgent(input: $input) { agent { id } }
  }
`);

/** How often each test is run from here: often enough to distinguish chance from change. */
const repeats = 5;

/** An agent: its prompt and test results, with everything else about it in tabs. */
export default function Agent() {
  const { id = "", tab = "prompt" } = useParams<{ id: string; tab?: string }>();
  // The tests tab reads the agent itself, together with its tests.
  return tab === "tests" ? <TestsOf agentId={id} isTab /> : <AgentTabs id={id} tab={tab} />;
}

function AgentTabs({ id, tab }: { id: string; tab: string }) {
  const answer = usePage(AgentQuery, { id, seesPrompt: may("prompts") }, { keeps: true });
  return (
    <Shown answer={answer} missing={`agent ${id}`}>
      {({ agent }) => agent && <AgentPage agent={agent} tab={tab} />}
    </Shown>
  );
}

function AgentPage({ agent, tab }: { agent: AgentOfPage; tab: string }) {
  const [isEdited, setEdited] = useState(false);
  const go = useGo();
  const run = useRun((id) => go(`/agents/${agent.id}/tests?execution=${id}`));
  const hasTests = agent.allTests.totalCount > 0;
  const runAll = {
    disabled: run.isBusy,
    title: `Each test ${repeats} times`,
    onClick: () => void run.ask({ agentId: agent.id, repeats }),
    children: (
      <>
        <Icon name="play" />
        Run tests
      </>
    ),
  };
  const actions = (
    <>
      {hasTests && <Act scope="simulate" className="wide" {...runAll} />}
      <RunConfirmation run={run} />
    </>
  );
  const more = (
    <>
      {hasTests && <Act scope="simulate" className="narrow" {...runAll} />}
      <Duplicate agent={agent} />
    </>
  );
  if (tab === "prompt") {
    return (
      <AgentFrame agent={agent} tab={tab} isFull="wide" isQuiet={isEdited} actions={actions} more={more}>
        <AgentPrompt key={agent.id} agent={agent} onEdited={setEdited} />
      </AgentFrame>
    );
  }
  const shown = { versions: AgentVersions, connections: AgentConnections, settings: AgentSettings, chats: Chats }[tab];
  if (!shown) return <NotFound />;
  const Tab = shown;
  return (
    <AgentFrame agent={agent} tab={tab} actions={actions} more={more}>
      <Suspense fallback={<Loading />}>
        <Tab key={agent.id} agent={agent} />
      </Suspense>
    </AgentFrame>
  );
}

function Chats({ agent }: { agent: AgentOfPage }) {
  const [params, setParams] = useSearchParams();
  return <ChatList agentId={agent.id} after={params.get("after")} showAfter={(after) => setParams({ after })} />;
}

/** Copies the agent, and shows the settings of the copy, where its name can be changed. */
function Duplicate({ agent }: { agent: AgentOfPage }) {
  const duplicate = useAction(DuplicateAgent);
  const go = useGo();
  const copy = async () => {
    const name = `${agent.name.slice(0, 248)} (copy)`;
    const created = await duplicate.run({ input: { agentId: agent.id, name } }, {}, (error) => toast(errorText(error), { isError: true }));
    if (!created?.duplicateAgent) return;
    toast(`Created ${name}, without tests.`);
    go(`/agents/${created.duplicateAgent.agent.id}/settings`);
  };
  return (
    <button type="button" disabled={duplicate.isBusy || !may("write")} onClick={() => void copy()}>
      <Icon name="agents" />
      Duplicate
    </button>
  );
}
