import type { ReactNode } from "react";
import { Link } from "wouter";
import { Avatar } from "../../ui/Avatar";
import { Channel } from "../../ui/Channel";
import { count } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { Page, Tabs } from "../../ui/Page";

/** What the frame shows of an agent, on each of its tabs. */
export interface FramedAgent {
  id: string;
  name: string;
  channel: string;
  direction: string;
  language: string;
  tags: readonly string[];
  promptVersion: number;
  tools: readonly unknown[];
  subAgents: readonly unknown[];
  knowledgeBaseChatId: string | null;
  simulationChats: { totalCount: number };
  allTests: { totalCount: number };
  redTests: { totalCount: number };
}

/** The page of an agent, with the tabs that stay on it. */
export function AgentFrame({ agent, tab, isFull, isQuiet = false, actions, more, children }: {
  agent: FramedAgent;
  tab: string;
  isFull?: boolean | "wide";
  /** Another button is the primary one. */
  isQuiet?: boolean;
  actions?: ReactNode;
  more?: ReactNode;
  children: ReactNode;
}) {
  const to = `/agents/${agent.id}`;
  const connections = agent.tools.length + agent.subAgents.length + (agent.knowledgeBaseChatId ? 1 : 0);
  const tabs = [
    { key: "prompt", to, text: "Prompt" },
    { key: "versions", to: `${to}/versions`, text: "Versions", count: agent.promptVersion },
    { key: "connections", to: `${to}/connections`, text: "Connections", count: connections },
    { key: "tests", to: `${to}/tests`, text: "Tests", count: count(agent.allTests.totalCount), red: agent.redTests.totalCount },
    { key: "chats", to: `${to}/chats`, text: "Chats", count: count(agent.simulationChats.totalCount) },
    { key: "settings", to: `${to}/settings`, text: "Settings" },
  ];
  return (
    <Page
      title={agent.name}
      part={tabs.find(({ key }) => key === tab)?.text}
      face={<Avatar agent={agent} />}
      crumbs={[{ to: "/agents", text: "Agents" }]}
      isFull={isFull}
      facts={
        <>
          <Channel channel={agent.channel} direction={agent.direction} />
          <span className="wide">{agent.language}</span>
          {agent.tags.map((tag) => (
            <Link key={tag} className="quiet wide" href={`/agents?tag=${encodeURIComponent(tag)}`}>
              #{tag}
            </Link>
          ))}
        </>
      }
      actions={
        <>
          {actions}
          <Link className={isQuiet ? "button" : "button primary"} href={`/chats/new?agent=${agent.id}`}>
            <Icon name="chat" />
            Chat
          </Link>
        </>
      }
      more={more}
      tabs={<Tabs label="Agent" tabs={tabs} current={tab} />}
    >
      {children}
    </Page>
  );
}
