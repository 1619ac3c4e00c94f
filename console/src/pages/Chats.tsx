import { Link, useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../api/graphql";
import { usePage } from "../api/page";
import { may } from "../ui/Act";
import { AgentPicker } from "../ui/AgentPicker";
import { Page } from "../ui/Page";
import { Empty, Failure, Loading } from "../ui/states";
import { Status } from "../ui/Status";
import { Time } from "../ui/Time";

const ChatsQuery = graphql(`
  query Chats($agentId: ID, $first: Int!, $after: String, $seesMessages: Boolean!, $filter: SimulationChatFilter) {
    simulationChats(agentId: $agentId, first: $first, after: $after, filter: $filter) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes { id status isDraft createdAt messageCount agent { id name } lastMessage @include(if: $seesMessages) { sequence role text } }
    }
  }
`);

type ListedChat = ResultOf<typeof ChatsQuery>["simulationChats"]["nodes"][number];

const statuses = ["Open", "Replying", "Ended"] as const;

/** The simulated chats of one agent or of all. */
export default function Chats() {
  const [params, setParams] = useSearchParams();
  const agentId = params.get("agent") ?? undefined;
  const status = statuses.find((s) => s === params.get("status"));
  const answer = usePage(
    ChatsQuery,
    { agentId, first: 25, after: params.get("after"), seesMessages: may("contacts"), filter: status && { statuses: [status] } },
    { onFocus: true, keeps: true },
  );
  const chats = answer.data?.simulationChats;
  const start = `/chats/new${agentId ? `?agent=${agentId}` : ""}`;
  return (
    <Page
      title="Chats"
      actions={
        <Link className="button primary" href={start}>
          New chat
        </Link>
      }
    >
      <div className="row">
        <AgentPicker agentId={agentId} none="All agents" pick={(id) => setParams({ ...(id && { agent: id }), ...(status && { status }) })} />
        <select
          aria-label="Status"
          value={status ?? ""}
          onChange={(event) => setParams({ ...(agentId && { agent: agentId }), ...(event.target.value && { status: event.target.value }) })}
        >
          <option value="">Any status</option>
          {statuses.map((s) => (
            <option key={s}>{s}</option>
          ))}
        </select>
        {chats && <span className="muted push">{chats.totalCount} total</span>}
      </div>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!chats && !answer.error && <Loading />}
      {chats?.nodes.length === 0 && !answer.isOld && (
        <Empty title={status ? "No chats match the filter." : "There are no chats yet."}>
          In a simulated chat you talk with an agent as a contact. Its calls can be mocked. <Link href={start}>Start one</Link>
        </Empty>
      )}
      {chats && chats.nodes.length > 0 && <List chats={chats.nodes} />}
      {chats?.pageInfo.hasNextPage && !answer.isOld && (
        <div>
          <button type="button" onClick={() => setParams({ ...(agentId && { agent: agentId }), ...(status && { status }), after: chats.pageInfo.endCursor ?? "" })}>
            Earlier chats
          </button>
        </div>
      )}
    </Page>
  );
}

function List({ chats }: { chats: readonly ListedChat[] }) {
  return (
    <div className="card scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Chat</th>
            <th scope="col">Status</th>
            <th scope="col" className="wide">
              Last message
            </th>
            <th scope="col" className="number">
              Messages
            </th>
          </tr>
        </thead>
        <tbody>
          {chats.map((chat) => (
            <tr key={chat.id}>
              <th scope="row">
                <Link href={`/chats/${chat.id}`}>{chat.agent.name}</Link>
                <div className="muted small">
                  <Time at={chat.createdAt} />
                </div>
              </th>
              <td>
                <Status of={chat.status} /> {chat.isDraft && <Status of="Draft" />}
              </td>
              <td className="wide">
                {chat.lastMessage ? (
                  <>
                    <span className="muted">{chat.lastMessage.role === "user" ? "contact: " : "agent: "}</span>
                    {chat.lastMessage.text.slice(0, 140)}
                  </>
                ) : (
                  <span className="muted">{chat.lastMessage === null ? "no messages" : "not shown: your key lacks the scope contacts"}</span>
                )}
              </td>
              <td className="number">{chat.messageCount}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
