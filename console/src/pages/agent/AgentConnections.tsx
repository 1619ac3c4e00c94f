import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { graphql } from "../../api/graphql";
import { useAction, usePage } from "../../api/page";
import { Act } from "../../ui/Act";
import { Failure } from "../../ui/states";
import type { AgentOfPage } from "./query";
import styles from "./AgentConnections.module.css";
import { useForeign } from "./AgentPrompt";
import { NewSubAgent } from "./NewSubAgent";
import { NewTool } from "./NewTool";

const Choices = graphql(`
  query Connectable {
    tools(first: 100) { nodes { id name technicalName } }
    agents(first: 100) { nodes { id name } }
    knowledgeBaseChats(first: 100) { nodes { id name } }
  }
`);

const ConnectTool = graphql(`
  mutation ConnectTool($input: ConnectToolInput!) {
    connectTool(input: $input) { agent { id updatedAt tools { id name technicalName description parameters endpoint { method url headerNames timeoutSeconds } } } }
  }
`);
const DisconnectTool = graphql(`
  mutation DisconnectTool($input: DisconnectToolInput!) {
    disconnectTool(input: $input) { agent { id updatedAt tools { id } } }
  }
`);
const AddSubAgent = graphql(`
  mutation AddSubAgent($input: AddSubAgentInput!) {
    addSubAgent(input: $input) { agent { id updatedAt subAgents { id name technicalName description agent { id name channel } } } }
  }
`);
const RemoveSubAgent = graphql(`
  mutation RemoveSubAgent($input: RemoveSubAgentInput!) {
    removeSubAgent(input: $input) { agent { id updatedAt subAgents { id } } }
  }
`);
const ConnectKnowledge = graphql(`
  mutation ConnectKnowledge($input: ConnectKnowledgeBaseChatInput!) {
    connectKnowledgeBaseChat(input: $input) {
      agent { id updatedAt knowledgeBaseChat { id name datasets { id name documentCount chunkCount } promptSettings { showQuote } } }
    }
  }
`);
const DisconnectKnowledge = graphql(`
  mutation DisconnectKnowledge($input: DisconnectKnowledgeBaseChatInput!) {
    disconnectKnowledgeBaseChat(input: $input) { agent { id updatedAt knowledgeBaseChat { id } } }
  }
`);

/** The agent's tools, sub-agents and knowledge base chat. */
export default function AgentConnections({ agent }: { agent: AgentOfPage }) {
  const choices = usePage(Choices, {}).data;
  return (
    <div className="stack">
      <Tools agent={agent} choices={choices?.tools.nodes ?? []} />
      <SubAgents agent={agent} choices={choices?.agents.nodes ?? []} />
      <Knowledge agent={agent} choices={choices?.knowledgeBaseChats.nodes ?? []} />
    </div>
  );
}

interface Choice {
  id: string;
  name: string;
}

function Tools({ agent, choices }: { agent: AgentOfPage; choices: Choice[] }) {
  const connect = useAction(ConnectTool);
  const disconnect = useAction(DisconnectTool);
  const [isNew, setNew] = useState(false);
  const error = connect.error ?? disconnect.error;
  const connectWith = (toolId: string) => void connect.run({ input: { agentId: agent.id, toolId } });
  return (
    <section className="card" aria-labelledby="tools-title">
      <header>
        <h2 id="tools-title">Tools</h2>
        <Add
          what="tool"
          choices={choices.filter((tool) => !agent.tools.some((t) => t.id === tool.id))}
          add={connectWith}
        >
          <Act scope="write" onClick={() => setNew(true)}>
            New tool
          </Act>
        </Add>
      </header>
      {isNew && (
        <NewTool
          onMade={(toolId) => {
            connectWith(toolId);
            setNew(false);
          }}
          onClose={() => setNew(false)}
        />
      )}
      {error && <Failure error={error} />}
      <ul className={styles.items}>
        {agent.tools.map((tool) => (
          <li key={tool.id}>
            <div className="row between">
              <strong>{tool.name}</strong>
              <Act scope="write" className="plain" disabled={disconnect.isBusy} onClick={() => void disconnect.run({ input: { agentId: agent.id, toolId: tool.id } })}>
                Disconnect<span className="unseen"> {tool.name}</span>
              </Act>
            </div>
            <code>{tool.technicalName}</code>
            <span className="muted small">{tool.endpoint ? ` ${tool.endpoint.method} ${tool.endpoint.url}` : " no endpoint: mocks only"}</span>
            <p className="muted">{tool.description}</p>
            <details>
              <summary className="small">Arguments</summary>
              <pre className="small">{JSON.stringify(tool.parameters, null, 2)}</pre>
            </details>
          </li>
        ))}
        {agent.tools.length === 0 && <li className="muted">No tools.</li>}
      </ul>
    </section>
  );
}

function SubAgents({ agent, choices }: { agent: AgentOfPage; choices: Choice[] }) {
  const add = useAction(AddSubAgent);
  const remove = useAction(RemoveSubAgent);
  const [to, setTo] = useState<Choice>();
  const close = () => {
    add.reset();
    setTo((now) => (now === to ? undefined : now));
  };
  return (
    <section className="card" aria-labelledby="subs-title">
      <header>
        <h2 id="subs-title">Delegates to</h2>
        <Add what="agent" choices={choices.filter((other) => other.id !== agent.id)} add={(id) => setTo(choices.find((choice) => choice.id === id))} />
      </header>
      {to && <NewSubAgent agentId={agent.id} to={to} add={add} onClose={close} />}
      {remove.error && <Failure error={remove.error} />}
      <ul className={styles.items}>
        {agent.subAgents.map((sub) => (
          <li key={sub.id}>
            <div className="row between">
              <span>
                <strong>{sub.name}</strong> → <Link href={`/agents/${sub.agent.id}`}>{sub.agent.name}</Link>
              </span>
              <Act scope="write" className="plain" disabled={remove.isBusy} onClick={() => void remove.run({ input: { subAgentId: sub.id } })}>
                Remove<span className="unseen"> {sub.name}</span>
              </Act>
            </div>
            <code>{sub.technicalName}</code>
            <p className="muted">{sub.description}</p>
          </li>
        ))}
        {agent.subAgents.length === 0 && <li className="muted">No sub-agents.</li>}
      </ul>
    </section>
  );
}

function Knowledge({ agent, choices }: { agent: AgentOfPage; choices: Choice[] }) {
  const connect = useAction(ConnectKnowledge);
  const disconnect = useAction(DisconnectKnowledge);
  const isForeign = useForeign(agent.id, connect.error);
  const error = connect.error ?? disconnect.error;
  const chat = agent.knowledgeBaseChat;
  const connectWith = (chatId: string) => void connect.run({ input: { agentId: agent.id, chatId, expectedUpdatedAt: agent.updatedAt } });
  return (
    <section className="card" aria-labelledby="knowledge-title">
      <header>
        <h2 id="knowledge-title">Knowledge</h2>
        <Add
          what="knowledge base chat"
          choices={choices.filter((other) => other.id !== chat?.id)}
          add={connectWith}
        />
      </header>
      {isForeign && (
        <p className="note warn" role="alert">
          Somebody else changed this agent meanwhile. The current connection is shown below. Connect yours again if it still applies.
        </p>
      )}
      {error && !isForeign && <Failure error={error} />}
      <ul className={styles.items}>
        {chat ? (
          <li>
            <div className="row between">
              <Link href={`/knowledge/chats/${chat.id}`}>{chat.name}</Link>
              <Act scope="write" className="plain" disabled={disconnect.isBusy} onClick={() => void disconnect.run({ input: { agentId: agent.id } })}>
                Disconnect
              </Act>
            </div>
            <p className="muted">
              {chat.datasets.map((set) => `${set.name}: ${set.documentCount} documents`).join(" · ")}
              {chat.promptSettings.showQuote ? " · cites its sources" : ""}
            </p>
          </li>
        ) : (
          <li className="muted">No knowledge base chat.</li>
        )}
      </ul>
    </section>
  );
}

function Add({ what, choices, add, children }: { what: string; choices: Choice[]; add: (id: string) => void; children?: ReactNode }) {
  const [id, setId] = useState("");
  return (
    <form
      className="row push"
      onSubmit={(event) => {
        event.preventDefault();
        if (id) add(id);
        setId("");
      }}
    >
      <select aria-label={`Another ${what}`} value={id} onChange={(event) => setId(event.target.value)}>
        <option value="">Another {what}…</option>
        {choices.map((choice) => (
          <option key={choice.id} value={choice.id}>
            {choice.name}
          </option>
        ))}
      </select>
      <Act scope="write" type="submit" disabled={!id}>
        Connect
      </Act>
      {children}
    </form>
  );
}
