import { Link } from "wouter";
import styles from "./Brand.module.css";

/** The mark and the name, as a link to the home page. */
export function Brand() {
  return (
    <Link href="/" className={styles.brand}>
      <svg viewBox="0 0 32 32" fill="none" aria-hidden="true">
        <circle cx="12.5" cy="15.5" r="7" stroke="currentColor" strokeWidth="3.5" />
        <path d="M19.5 6.75v9.75c0 4 1.75 6.25 4.75 7" stroke="currentColor" strokeWidth="3.5" strokeLinecap="round" />
        <circle className={styles.dot} cx="26" cy="24" r="3.5" />
      </svg>
      agentgraph
    </Link>
  );
}
