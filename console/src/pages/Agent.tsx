import { lazy, Suspense } from "react";
import { Link, useParams } from "wouter";
import { graphql, type ResultOf } from "../api/graphql";
import { usePage } from "../api/page";
import { may } from "../ui/Act";
import { Page, Tabs } from "../ui/Page";
import { Loading, NotFound, Shown } from "../ui/states";
import { AgentPrompt } from "./agent/AgentPrompt";

const AgentVersions = lazy(() => import("./agent/AgentVersions"));
const AgentConnections = lazy(() => import("./agent/AgentConnections"));
const AgentSettings = lazy(() => import("./agent/AgentSettings"));

const AgentQuery = graphql(`
  query Agent($id: ID!, $seesPrompt: Boolean!) {
    agent(id: $id) {
      id name channel direction language tags prompt @include(if: $seesPrompt) promptVersion updatedAt
      inboundWelcomeMessage outboundWelcomeMessage isCallTransferEnabled
      fields { name isMandatory isSystem }
      classificationTags { name definition isSystem }
      extractedValues { name definition type }
      tools { id name technicalName description parameters endpoint { method url headerNames timeoutSeconds } }
      subAgents { id name technicalName description agent { id name channel } }
      knowledgeBaseChat { id name datasets { id name documentCount chunkCount } promptSettings { showQuote } }
    }
  }
`);

export type AgentOfPage = NonNullable<ResultOf<typeof AgentQuery>["agent"]>;

/** An agent: its prompt and test results, with everything else about it in tabs. */
export default function Agent() {
  const { id = "", tab = "prompt" } = useParams<{ id: string; tab?: string }>();
  const answer = usePage(AgentQuery, { id, seesPrompt: may("prompts") });
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
    { key: "tests", to: `/tests?agent=${agent.id}`, text: "Tests" },
    { key: "chats", to: `/chats?agent=${agent.id}`, text: "Chats" },
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
          <Link className="button" href={`/tests?agent=${agent.id}`}>
            Tests
          </Link>
          <Link className="button primary" href={`/chats/new?agent=${agent.id}`}>
            Chat with it
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
