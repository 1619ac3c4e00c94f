import { Link } from "wouter";
import { Avatar } from "../../ui/Avatar";
import { Time } from "../../ui/Time";
import styles from "../Home.module.css";
import type { HomeData } from "./query";

/** The newest chats with their last messages, if the key may read them. */
export function LastChats({ chats }: { chats: HomeData["simulationChats"]["nodes"] }) {
  return (
    <section className={styles.section}>
      <header>
        <h2>Last chats</h2>
        {chats.length > 0 && <Link href="/chats">All chats</Link>}
      </header>
      {chats.length === 0 && (
        <p className="muted small">
          None yet. <Link href="/chats/new">Start one</Link> to talk with an agent as a contact.
        </p>
      )}
      <div className={styles.chats}>
        {chats.map((chat) => (
          <Link key={chat.id} href={`/chats/${chat.id}`}>
            <Avatar agent={chat.agent} />
            <b>{chat.agent.name}</b>
            <Time at={chat.createdAt} />
            {chat.lastMessage && <small className="cut">{chat.lastMessage.text}</small>}
          </Link>
        ))}
      </div>
    </section>
  );
}
