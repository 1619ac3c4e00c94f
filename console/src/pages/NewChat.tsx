import { useState, type FormEvent } from "react";
import { useClient } from "urql";
import { Link, useSearchParams } from "wouter";
import { graphql, type ResultOf, type VariablesOf } from "../api/graphql";
import { useAction, useGo, useHere, usePage } from "../api/page";
import { Act, may } from "../ui/Act";
import { AgentPicker, useAgents, type AgentChoice } from "../ui/AgentPicker";
import { Avatar } from "../ui/Avatar";
import { plural } from "../ui/format";
import { Page } from "../ui/Page";
import { Empty, Failure, Loading } from "../ui/states";
import { keptDraft } from "./agent/draft";
import { Beginning, useRunOf, type RunToTalkOn } from "./chat/Beginning";
import { Coverage, isReal } from "./chat/Coverage";
import styles from "./NewChat.module.css";

const ChatForm = graphql(`
  query ChatForm($id: ID!, $toolMocking: ToolMockingInput, $seesCoverage: Boolean!, $seesValues: Boolean!) {
    agent(id: $id) {
      id name
      fields { name isMandatory isSystem }
      tools { id name technicalName endpoint { url } }
      subAgents { id name technicalName agent { id name } }
      knowledgeBaseChat { id name }
      tests(first: 20) @include(if: $seesValues) { nodes { __typename id ... on SimulationTest { variables } } }
      coverage(toolMocking: $toolMocking) @include(if: $seesCoverage) { kind targetId technicalName path effect }
    }
  }
`);

const StartChat = graphql(`
  mutation StartChat($input: StartSimulationChatInput!) {
    startSimulationChat(input: $input) { simulationChat { id } }
  }
`);

type MockingInput = NonNullable<VariablesOf<typeof ChatForm>["toolMocking"]>;
type FormAgent = NonNullable<ResultOf<typeof ChatForm>["agent"]>;

/** The form whose button is in the head of the page, always in view. */
const formId = "start";

/** Starts a chat with an agent, the contact's data and the mocks. */
export default function NewChat() {
  const [params, setParams] = useSearchParams();
  const agentId = params.get("agent") ?? undefined;
  const choice = useAgents(agentId);
  const [mocking, setMocking] = useState(careful);
  const [isStarting, setStarting] = useState(false);
  const asked = { id: agentId ?? "", toolMocking: inputOf(mocking), seesCoverage: may("simulate"), seesValues: may("contacts") };
  const answer = usePage(ChatForm, asked, { pause: !agentId, keeps: true });
  const run = useRunOf(params.get("run"));
  // The form stays while the coverage of other mocks loads, but not while another agent loads.
  const isRead = answer.data && (!answer.isOld || answer.data.agent?.id === agentId) && run.isRead !== false;
  return (
    <Page
      title="New chat"
      crumbs={[{ to: agentId ? `/chats?agent=${agentId}` : "/chats", text: "Chats" }]}
      actions={
        <>
          <AgentPicker
            choice={choice}
            agentId={agentId}
            none="Choose…"
            pick={(id) => {
              setMocking(careful);
              setParams(id ? { agent: id } : {}, { replace: true });
            }}
          />
          {agentId && (
            <Act scope="simulate" type="submit" form={formId} className="primary" disabled={!isRead || isStarting}>
              {isStarting ? "Starting…" : "Start chat"}
            </Act>
          )}
        </>
      }
    >
      {!agentId && <Choice {...choice} />}
      {agentId && answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {run.error && <Failure error={run.error} retry={run.refresh} />}
      {agentId && !isRead && !answer.error && !run.error && <Loading />}
      {agentId && answer.data?.agent && isRead && (
        <Start
          key={answer.data.agent.id}
          agent={answer.data.agent}
          isCovered={!answer.isOld}
          asked={asked}
          mocking={mocking}
          setMocking={setMocking}
          isDraft={params.has("draft")}
          run={run.data}
          setStarting={setStarting}
        />
      )}
    </Page>
  );
}

/** How many agents show as links. The list above has all. */
const linked = 12;

/** The page before an agent is chosen. */
function Choice({ agents, total }: AgentChoice) {
  return (
    <Empty icon="chat" title="Which agent do you want to talk with?">
      You write as the contact. Calls are mocked unless you allow real ones.
      <ul className="row" style={{ justifyContent: "center", marginTop: 16 }}>
        {agents.slice(0, linked).map((agent) => (
          <li key={agent.id} className="row">
            <Link className="button cut" href={`/chats/new?agent=${agent.id}`}>
              <Avatar agent={agent} />
              <span className="cut">{agent.name}</span>
            </Link>
          </li>
        ))}
      </ul>
      {total > linked && (
        <p className="small" style={{ marginTop: 12 }}>
          {linked} of {plural(total, "agent")}. Choose others at the top.
        </p>
      )}
    </Empty>
  );
}

interface Mocking {
  mockAllTools: boolean;
  mockAllSubAgents: boolean;
  mockCallTransfer: boolean;
  isDenied: boolean;
  /** Tool results, by their ids. */
  answers: Record<string, string>;
}

/** Nothing real happens. Sub-agents answer, and calls of their own tools, which cannot be mocked, are refused. */
const careful: Mocking = { mockAllTools: true, mockAllSubAgents: false, mockCallTransfer: true, isDenied: true, answers: {} };

function inputOf({ isDenied, answers, ...mocked }: Mocking): MockingInput {
  const mockedTools = Object.entries(answers).map(([toolId, resultTemplate]) => ({ toolId, resultTemplate }));
  return { ...mocked, mockedTools: mockedTools.filter((tool) => tool.resultTemplate), mockedSubAgents: [], sideEffects: isDenied ? "Deny" : "Allow" };
}

interface MockingProps {
  agent: FormAgent;
  /** The coverage belongs to these mocks. */
  isCovered: boolean;
  mocking: Mocking;
  setMocking: (mocking: Mocking) => void;
}

interface StartProps extends MockingProps {
  /** The variables of the form's query. */
  asked: VariablesOf<typeof ChatForm>;
  isDraft: boolean;
  run: RunToTalkOn | undefined;
  setStarting: (isStarting: boolean) => void;
}

function Start({ isDraft, run, asked, setStarting, ...props }: StartProps) {
  const { agent, isCovered } = props;
  const draft = isDraft ? keptDraft(agent.id) : undefined;
  const start = useAction(StartChat);
  const go = useGo();
  const client = useClient();
  const isHere = useHere();
  /** Whether the chat could make real calls that the page does not show yet. */
  const isUntold = async () => {
    if (isCovered) return false;
    const { data } = await client.query(ChatForm, asked, { requestPolicy: "network-only" });
    return !data?.agent?.coverage || data.agent.coverage.some(isReal);
  };
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const filled = agent.fields.map((field) => [field.name, String(form.get(`field:${field.name}`) ?? "")] as const).filter(([, value]) => value);
    const messages = run?.messages.slice(0, Number(form.get("upTo")) + 1);
    setStarting(true);
    const isRefused = await isUntold();
    if (!isRefused) await begin(Object.fromEntries(filled), messages);
    if (isHere.current) setStarting(false);
  };
  const begin = async (dataBag: Record<string, unknown>, messages: RunToTalkOn["messages"] | undefined) => {
    const created = await start.run({ input: { agentId: agent.id, dataBag, toolMocking: asked.toolMocking, prompt: draft?.text, messages } });
    if (created?.startSimulationChat) go(`/chats/${created.startSimulationChat.simulationChat.id}`);
  };
  return (
    <form id={formId} className="stack" onSubmit={submit}>
      {draft && (
        <details className="note">
          <summary>This chat uses your unsaved draft of the prompt.</summary>
          <p className={styles.prompt}>{draft.text}</p>
          <Link href={`/agents/${agent.id}`}>Continue editing</Link>
        </details>
      )}
      {start.error && <Failure error={start.error} />}
      {isDraft && !draft && <p className="note warn">This tab has no unsaved draft. The chat uses the saved prompt.</p>}
      <div className="split">
        <div className="stack">
          {run && <Beginning run={run} />}
          <Fields agent={agent} known={{ ...samplesOf(agent), ...run?.variables }} />
        </div>
        <div className="stack">
          <MockingChoice {...props} />
          {agent.coverage && isCovered && (
            <div className="card">
              <div className="body">
                <Coverage calls={agent.coverage} />
              </div>
            </div>
          )}
        </div>
      </div>
      </form>
  );
}

/** Values for the agent's fields, as far as its tests have some. */
function samplesOf(agent: FormAgent): Record<string, unknown> {
  const variables = agent.tests?.nodes.flatMap((test) => (test.__typename === "SimulationTest" ? [test.variables] : [])) ?? [];
  return Object.assign({}, ...variables.toReversed());
}

/** A value as text: texts as they are, anything else as JSON. */
function textOf(value: unknown): string {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");
}

function Fields({ agent, known }: { agent: FormAgent; known: Record<string, unknown> }) {
  const own = agent.fields.filter((field) => !field.isSystem);
  const system = agent.fields.filter((field) => field.isSystem);
  return (
    <section className="card" aria-labelledby="bag-title">
      <header>
        <h2 id="bag-title">Data bag</h2>
      </header>
      <div className="body stack">
        {own.map((field) => (
          <div key={field.name} className="field">
            <label htmlFor={field.name}>
              {field.name}
              {field.isMandatory && <span className="muted small"> required</span>}
            </label>
            <input id={field.name} name={`field:${field.name}`} required={field.isMandatory} autoComplete="off" defaultValue={textOf(known[field.name])} />
          </div>
        ))}
        {own.length === 0 && <p className="muted">The prompt has no fields to fill.</p>}
        {system.length > 0 && (
          <details>
            <summary className="small">Filled by the system: {system.map((field) => field.name).join(", ")}</summary>
            <div className="stack">
              {system.map((field) => (
                <div key={field.name} className="field">
                  <label htmlFor={field.name}>{field.name}, to set it yourself</label>
                  <input id={field.name} name={`field:${field.name}`} autoComplete="off" />
                </div>
              ))}
            </div>
          </details>
        )}
      </div>
    </section>
  );
}

function MockingChoice({ agent, isCovered, mocking, setMocking }: MockingProps) {
  const box = (name: Exclude<keyof Mocking, "answers">, text: string) => (
    <label className="check">
      <input type="checkbox" checked={mocking[name]} onChange={(event) => setMocking({ ...mocking, [name]: event.target.checked })} />
      {text}
    </label>
  );
  return (
    <section className="card" aria-labelledby="mock-title">
      <header>
        <h2 id="mock-title">Mocks</h2>
      </header>
      <div className="body stack">
        <div className="stack tight">
          {box("mockAllTools", "All tools")}
          {box("mockAllSubAgents", "All sub-agents")}
          {box("mockCallTransfer", "Call transfer")}
          {box("isDenied", "Deny all other real calls")}
        </div>
        <Reality agent={agent} isCovered={isCovered} mocking={mocking} />
        {agent.tools.length > 0 && (
          <details>
            <summary>Tool results</summary>
            <div className="stack">
              {agent.tools.map((tool) => (
                <div key={tool.id} className="field">
                  <label htmlFor={tool.id} className="mono">
                    {tool.technicalName}
                  </label>
                  <textarea
                    id={tool.id}
                    rows={2}
                    className="mono"
                    placeholder='{"ok": true}'
                    onBlur={(event) => setMocking({ ...mocking, answers: { ...mocking.answers, [tool.id]: event.target.value } })}
                  />
                </div>
              ))}
            </div>
          </details>
        )}
      </div>
    </section>
  );
}

const and = new Intl.ListFormat("en");

/** Shows the real calls that the chat could make. */
function Reality({ agent, isCovered, mocking }: Omit<MockingProps, "setMocking">) {
  if (!agent.coverage) return null;
  if (!isCovered) {
    return (
      <div role="status" className="note">
        Checking for real calls…
      </div>
    );
  }
  const real = agent.coverage.filter(isReal).map((call) => {
    const endpoint = agent.tools.find((tool) => tool.id === call.targetId)?.endpoint;
    return [...call.path, call.technicalName].join(" › ") + (endpoint ? ` calls ${endpoint.url}` : "");
  });
  const isDelegating = !mocking.mockAllSubAgents && agent.subAgents.length > 0;
  return (
    <div role="status" className={real.length > 0 ? "note bad" : "note"}>
      {real.length > 0 ? (
        <>
          <strong>Real calls:</strong> {real.join("; ")}.
        </>
      ) : (
        "Sandboxed: no real calls."
      )}
      {isDelegating && ` It delegates to ${and.format(new Set(agent.subAgents.map((sub) => sub.agent.name)))}.${mocking.isDenied ? " Calls of their tools are refused." : ""}`}
      {agent.knowledgeBaseChat && ` It reads ${agent.knowledgeBaseChat.name}.`}
    </div>
  );
}
