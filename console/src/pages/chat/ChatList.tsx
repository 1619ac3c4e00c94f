import type { ReactNode } from "react";
import { Link } from "wouter";
import { graphql, type ResultOf } from "../../api/graphql";
import { usePage } from "../../api/page";
import { may } from "../../ui/Act";
import { Avatar } from "../../ui/Avatar";
import { count, plural } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { Empty, Failure, Loading } from "../../ui/states";
import { Status } from "../../ui/Status";
import { Time } from "../../ui/Time";
import styles from "./ChatList.module.css";

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

/** A status, or Approval for chats in which a call waits for a person. */
export type ChatState = "Open" | "Replying" | "Ended" | "Approval";

const pageSize = 25;

/** The simulated chats of one agent or of all, newest first. */
export function ChatList({ agentId, status, after, showAfter, children }: {
  agentId: string | undefined;
  status?: ChatState;
  /** The cursor of the page that is shown. */
  after: string | null;
  showAfter: (cursor: string) => void;
  /** Filters before the number of chats. */
  children?: ReactNode;
}) {
  const answer = usePage(
    ChatsQuery,
    { agentId, first: pageSize, after, seesMessages: may("contacts"), filter: status === "Approval" ? { awaitsApproval: true } : status && { statuses: [status] } },
    { onFocus: true, keeps: true },
  );
  const chats = answer.data?.simulationChats;
  return (
    <>
      {(children || (chats && chats.totalCount > 0)) && (
        <div className="toolbar">
          {children}
          {chats && <span role="status" className="muted small push">{plural(chats.totalCount, "chat")}</span>}
        </div>
      )}
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!chats && !answer.error && <Loading />}
      {chats?.nodes.length === 0 && !answer.isOld && <NoChats agentId={agentId} isFiltered={Boolean(status)} />}
      {chats && chats.nodes.length > 0 && <Table chats={chats.nodes} />}
      {chats?.pageInfo.hasNextPage && !answer.isOld && (
        <div>
          <button type="button" onClick={() => showAfter(chats.pageInfo.endCursor ?? "")}>
            Earlier chats
          </button>
        </div>
      )}
    </>
  );
}

function NoChats({ agentId, isFiltered }: { agentId: string | undefined; isFiltered: boolean }) {
  return (
    <Empty
      icon="chat"
      title={isFiltered ? "No chats match this filter" : "No chats yet"}
      action={
        <Link className="button" href={`/chats/new${agentId ? `?agent=${agentId}` : ""}`}>
          <Icon name="plus" />
          New chat
        </Link>
      }
    >
      In a simulated chat you talk with an agent as a contact. Its calls can be mocked.
    </Empty>
  );
}

function Table({ chats }: { chats: readonly ListedChat[] }) {
  return (
    <div className="card scroll">
      <table className={styles.chats}>
        <thead>
          <tr>
            <th scope="col">Agent</th>
            <th scope="col" className="wide">
              Last message
            </th>
            <th scope="col">State</th>
            <th scope="col" className="number wide">
              Messages
            </th>
            <th scope="col" className="number">
              Started
            </th>
          </tr>
        </thead>
        <tbody>
          {chats.map((chat) => (
            <tr key={chat.id} data-go>
              <th scope="row">
                <span className={styles.name}>
                  <Avatar agent={chat.agent} />
                  <Link href={`/chats/${chat.id}`}>{chat.agent.name}</Link>
                </span>
                {chat.lastMessage && <span dir="auto" className={`narrow muted small ${styles.last}`}>{chat.lastMessage.text.slice(0, 200)}</span>}
              </th>
              <td className={`wide ${styles.message}`}>
                {chat.lastMessage ? chat.lastMessage.text.slice(0, 200) : <span className="muted">{chat.lastMessage === null ? "–" : "not shown: your key lacks the scope contacts"}</span>}
              </td>
              <td className="nowrap">
                <Status of={chat.status} /> {chat.isDraft && <Status of="Draft" />}
              </td>
              <td className="number wide">{count(chat.messageCount)}</td>
              <td className="number muted">
                <Time at={chat.createdAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
