import { Fragment, useEffect, type ReactNode } from "react";
import { Link } from "wouter";
import { base } from "../api/base";
import { useOperations } from "../api/operations";
import { fragmentOf } from "../logic/handover";
import styles from "./Page.module.css";
import { useRecent } from "./recent";
import { useCurrentInView } from "./useCurrentInView";

export interface Crumb {
  to: string;
  text: string;
}

/** A page: breadcrumbs, title, facts, actions and content. */
export function Page({ title, crumbs = [], facts, actions, children }: {
  title: string;
  crumbs?: Crumb[];
  facts?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · agentgraph`;
  }, [title]);
  useRecent(title, crumbs.length === 0);
  return (
    <main id="main" className={styles.page} tabIndex={-1}>
      {crumbs.length > 0 && (
        <nav aria-label="Breadcrumb" className={styles.crumbs}>
          {crumbs.map((crumb) => (
            <Fragment key={crumb.to}>
              <Link href={crumb.to}>{crumb.text}</Link>
              <span aria-hidden="true">›</span>
            </Fragment>
          ))}
        </nav>
      )}
      <header className={styles.header}>
        <h1>{title}</h1>
        {facts && <div className={`row ${styles.facts}`}>{facts}</div>}
        {actions && <div className="row push">{actions}</div>}
      </header>
      {children}
      <Operations />
    </main>
  );
}

/** The page's API operations, each with a link that opens it in the explorer. */
function Operations() {
  const operations = useOperations();
  if (operations.length === 0) return null;
  return (
    <footer className={`row muted small ${styles.operations}`}>
      <span>This page in GraphQL:</span>
      {operations.map((request) => (
        <a key={request.query} href={new URL(`explore${fragmentOf(request)}`, base).href}>
          {/\w+ (\w+)/.exec(request.query)?.[1]}
        </a>
      ))}
    </footer>
  );
}

/** Links that look like tabs. Each leads to its own address. */
export function Tabs({ label, tabs, current }: { label: string; tabs: (Crumb & { key: string })[]; current: string }) {
  const row = useCurrentInView(current);
  return (
    <nav ref={row} aria-label={label} className={styles.tabs}>
      {tabs.map((tab) => (
        <Link key={tab.key} href={tab.to} aria-current={tab.key === current ? "page" : undefined}>
          {tab.text}
        </Link>
      ))}
    </nav>
  );
}
