import { hueOf, initials } from "../logic/faces";
import styles from "./Avatar.module.css";

/** An agent's initials in its color. It is decoration: the name is beside it, or in `title`. */
export function Avatar({ agent, size, title }: { agent: { id: string; name: string }; size?: "tiny" | "big" | "large"; title?: string }) {
  return (
    <span className={styles.avatar} data-hue={hueOf(agent.id)} data-size={size} title={title} aria-hidden="true">
      {initials(agent.name)}
    </span>
  );
}
