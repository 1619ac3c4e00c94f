import { useState, type ReactNode } from "react";
import { useQuery } from "urql";
import { Link } from "wouter";
import { graphql } from "../../api/graphql";
import { useAction, usePage } from "../../api/page";
import { Act } from "../../ui/Act";
import { ask } from "../../ui/asking";
import { plural } from "../../ui/format";
import { FindAgent } from "../../ui/FindAgent";
import { Failure } from "../../ui/states";
import { toast } from "../../ui/toasts";
import { Connectable, FoundAgents } from "./connectable";
import type { AgentOfPage } from "./query";
import styles from "./AgentConnections.module.css";
import { useForeign } from "./AgentPrompt";
import { McpServers } from "./McpServers";
import { SubAgentForm, type SubAgentValues } from "./SubAgentForm";
import { ToolForm } from "./ToolForm";
import { TryTool } from "./TryTool";

const ConnectTool = graphql(`
  mutation ConnectTool($input: ConnectToolInput!) {
    connectTool(input: $input) { agent { id updatedAt tools { id name technicalName description parameters endpoint { method url headerNames timeoutSeconds } mcpServer { id name } mcpName missingSince approval } } }
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
const UpdateSubAgent = graphql(`
  mutation UpdateSubAgent($input: UpdateSubAgentInput!) {
    updateSubAgent(input: $input) { subAgent { id name description } }
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
      agent { id updatedAt knowledgeBaseChatId knowledgeBaseChat { id name datasets { id name documentCount chunkCount } promptSettings { showQuote } } }
    }
  }
`);
const DisconnectKnowledge = graphql(`
  mutation DisconnectKnowledge($input: DisconnectKnowledgeBaseChatInput!) {
    disconnectKnowledgeBaseChat(input: $input) { agent { id updatedAt knowledgeBaseChatId knowledgeBaseChat { id } } }
  }
`);

/** The agent's tools, sub-agents and knowledge base chat. */
export default function AgentConnections({ agent }: { agent: AgentOfPage }) {
  const { data: choices, error, refresh } = usePage(Connectable, {});
  const connect = useAction(ConnectTool);
  return (
    <div className="stack">
      {error && <Failure error={error} retry={refresh} />}
      <Tools agent={agent} choices={choices?.tools.nodes ?? []} onCreated={refresh} />
      {connect.error && <Failure error={connect.error} />}
      <McpServers servers={choices?.mcpServers} refresh={refresh} connect={(toolId) => void connect.run({ input: { agentId: agent.id, toolId } })} />
      <SubAgents agent={agent} newest={choices?.agents.nodes ?? []} hasMore={choices?.agents.pageInfo.hasNextPage} />
      <Knowledge agent={agent} choices={choices?.knowledgeBaseChats.nodes ?? []} />
    </div>
  );
}

interface Choice {
  id: string;
  name: string;
}

function Tools({ agent, choices, onCreated }: { agent: AgentOfPage; choices: Choice[]; onCreated: () => void }) {
  const connect = useAction(ConnectTool);
  const disconnect = useAction(DisconnectTool);
  /** The dialog that is open, and its tool unless that is new. */
  const [open, setOpen] = useState<{ dialog: "edit" | "try"; toolId?: string }>();
  const opened = agent.tools.find((tool) => tool.id === open?.toolId);
  const close = () => setOpen(undefined);
  const error = connect.error ?? disconnect.error;
  const connectWith = (toolId: string) => void connect.run({ input: { agentId: agent.id, toolId } });
  const disconnectFrom = async ({ id, name }: Choice) => {
    const text = "The agent can no longer call it. The tool itself is kept.";
    if (!(await ask({ title: `Disconnect ${name}?`, text, verb: "Disconnect tool", isDangerous: true }))) return;
    if (await disconnect.run({ input: { agentId: agent.id, toolId: id } })) toast(`Disconnected ${name}.`);
  };
  return (
    <section className="card" aria-labelledby="tools-title">
      <header>
        <h2 id="tools-title">Tools</h2>
        <Add
          what="tool"
          choices={choices.filter((tool) => !agent.tools.some((t) => t.id === tool.id))}
          add={connectWith}
        >
          <Act scope="write" onClick={() => setOpen({ dialog: "edit" })}>
            New tool
          </Act>
        </Add>
      </header>
      {open?.dialog === "edit" && (
        <ToolForm
          tool={opened}
          onSaved={(toolId) => {
            if (!opened) {
              connectWith(toolId);
              onCreated();
            }
            close();
          }}
          onClose={close}
        />
      )}
      {open?.dialog === "try" && opened && <TryTool tool={opened} onClose={close} />}
      {error && <Failure error={error} />}
      <ul className={styles.items}>
        {agent.tools.map((tool) => (
          <li key={tool.id}>
            <div className="row between">
              <strong>{tool.name}</strong>
              <span className="row">
                {(tool.endpoint || (tool.mcpServer && !tool.missingSince)) && (
                  <Act scope="simulate" className="plain" onClick={() => setOpen({ dialog: "try", toolId: tool.id })}>
                    Try<span className="unseen"> {tool.name}</span>
                  </Act>
                )}
                <Act scope="write" className="plain" onClick={() => setOpen({ dialog: "edit", toolId: tool.id })}>
                  Edit<span className="unseen"> {tool.name}</span>
                </Act>
                <Act scope="write" className="plain" disabled={disconnect.isBusy} onClick={() => void disconnectFrom(tool)}>
                  Disconnect<span className="unseen"> {tool.name}</span>
                </Act>
              </span>
            </div>
            <code>{tool.technicalName}</code>
            <span className="muted small">{placeOf(tool)}</span>
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

/** Where calls of a tool go, and whether a person approves them. */
function placeOf({ endpoint, mcpServer, missingSince, approval }: AgentOfPage["tools"][number]): string {
  const server = mcpServer && ` MCP server ${mcpServer.name}${missingSince ? ", which no longer offers it" : ""}`;
  const place = endpoint ? ` ${endpoint.method} ${endpoint.url}` : (server ?? " no endpoint: mocks only");
  const person = { Auto: "", Ask: ". A person approves each call", Deny: ". Calls are denied" };
  return place + person[approval];
}

function SubAgents({ agent, newest, hasMore }: { agent: AgentOfPage; newest: Choice[]; hasMore: boolean | undefined }) {
  const [text, setText] = useState("");
  const [{ data }] = useQuery({ query: FoundAgents, variables: { text }, pause: !text });
  const choices = (text && data?.agents.nodes) || newest;
  const add = useAction(AddSubAgent);
  const update = useAction(UpdateSubAgent);
  const remove = useAction(RemoveSubAgent);
  const [to, setTo] = useState<Choice>();
  const [editedId, setEdited] = useState<string>();
  const edited = agent.subAgents.find((sub) => sub.id === editedId);
  const close = () => {
    add.reset();
    update.reset();
    setTo(undefined);
    setEdited(undefined);
  };
  const removeSub = async ({ id, name }: Choice) => {
    const text = "Its name and its description for the model are deleted. The agent itself is kept.";
    if ((await ask({ title: `Remove ${name}?`, text, verb: "Remove sub-agent", isDangerous: true })) && (await remove.run({ input: { subAgentId: id } }))) toast(`Removed ${name}.`);
  };
  const connect = async (delegateAgentId: string, { technicalName = "", ...values }: SubAgentValues) =>
    Boolean((await add.run({ input: { agentId: agent.id, delegateAgentId, technicalName, ...values } }))?.addSubAgent);
  const change = async (subAgentId: string, { name, description }: SubAgentValues) =>
    Boolean((await update.run({ input: { subAgentId, name, description } }))?.updateSubAgent);
  return (
    <section className="card" aria-labelledby="subs-title">
      <header>
        <h2 id="subs-title">Delegates to</h2>
        <Add
          what="agent"
          choices={choices.filter((other) => other.id !== agent.id)}
          find={<FindAgent hasMore={hasMore} text={text} found={data?.agents.totalCount} set={setText} />}
          add={(id) => setTo(choices.find((choice) => choice.id === id))}
        />
      </header>
      {to && <SubAgentForm to={to.name} action={add} save={(values) => connect(to.id, values)} onClose={close} />}
      {edited && <SubAgentForm to={edited.agent.name} values={edited} action={update} save={(values) => change(edited.id, values)} onClose={close} />}
      {remove.error && <Failure error={remove.error} />}
      <ul className={styles.items}>
        {agent.subAgents.map((sub) => (
          <li key={sub.id}>
            <div className="row between">
              <span>
                <strong>{sub.name}</strong> → <Link href={`/agents/${sub.agent.id}`}>{sub.agent.name}</Link>
              </span>
              <span className="row">
                <Act scope="write" className="plain" onClick={() => setEdited(sub.id)}>
                  Edit<span className="unseen"> {sub.name}</span>
                </Act>
                <Act scope="write" className="plain" disabled={remove.isBusy} onClick={() => void removeSub(sub)}>
                  Remove<span className="unseen"> {sub.name}</span>
                </Act>
              </span>
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
  const disconnectFrom = async (name: string) => {
    const text = "The agent no longer finds anything in it. The knowledge base chat itself is kept.";
    if (!(await ask({ title: `Disconnect ${name}?`, text, verb: "Disconnect knowledge", isDangerous: true }))) return;
    if (await disconnect.run({ input: { agentId: agent.id } })) toast(`Disconnected ${name}.`);
  };
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
          Somebody else changed this agent after you opened it. The current connection is shown below. If you still want to change it, do it again.
        </p>
      )}
      {error && !isForeign && <Failure error={error} />}
      <ul className={styles.items}>
        {chat ? (
          <li>
            <div className="row between">
              <Link href={`/knowledge/chats/${chat.id}`}>{chat.name}</Link>
              <Act scope="write" className="plain" disabled={disconnect.isBusy} onClick={() => void disconnectFrom(chat.name)}>
                Disconnect<span className="unseen"> {chat.name}</span>
              </Act>
            </div>
            <p className="muted">
              {chat.datasets.map((set) => `${set.name}: ${plural(set.documentCount, "document")}`).join(" · ")}
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

function Add({ what, choices, find, add, children }: { what: string; choices: Choice[]; find?: ReactNode; add: (id: string) => void; children?: ReactNode }) {
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
      {find}
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
