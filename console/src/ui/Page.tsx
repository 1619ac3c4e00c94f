import { Fragment, useEffect, type MouseEvent, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { base } from "../api/base";
import { useOperations } from "../api/operations";
import { fragmentOf } from "../logic/handover";
import { withoutOverrides } from "../logic/names";
import { Icon } from "./Icon";
import { arrive } from "./keepFocus";
import { Menu } from "./Menu";
import styles from "./Page.module.css";
import { useRecent } from "./recent";
import { useCurrentInView } from "./useCurrentInView";

export interface Crumb {
  to: string;
  text: string;
}

/** A page: a head with breadcrumbs, title, facts and actions, tabs, and the content. */
export function Page({ title, name = title, part, face, crumbs = [], facts, actions, more, tabs, isFull = false, children }: {
  title: string;
  /** The title of the browser's tab, if the page's own title says too little without its breadcrumbs. */
  name?: string;
  /** The tab that is shown, if the page has tabs. The title of the browser's tab begins with it. */
  part?: string;
  /** An avatar before the title. */
  face?: ReactNode;
  crumbs?: Crumb[];
  facts?: ReactNode;
  /** Buttons, the primary one last. */
  actions?: ReactNode;
  /** Entries of the menu More. */
  more?: ReactNode;
  tabs?: ReactNode;
  /** The content fills the window and scrolls inside. With "wide" it does so except on telephones. */
  isFull?: boolean | "wide";
  children: ReactNode;
}) {
  const [location] = useLocation();
  const full = withoutOverrides(part ? `${part} · ${name}` : name);
  useEffect(() => {
    document.title = `${full} · agentgraph`;
    arrive(`${location} ${title}`, full);
  }, [full, location, title]);
  useRecent(name, crumbs.length === 0);
  return (
    <main id="main" className={styles.main} data-full={isFull || undefined} tabIndex={-1} onClick={followRow}>
      <header className={styles.head}>
        <div className={styles.title}>
          {crumbs.length > 0 && (
            <nav aria-label="Breadcrumb" className={styles.crumbs}>
              {crumbs.map((crumb) => (
                <Fragment key={crumb.to}>
                  <Link href={crumb.to}>{crumb.text}</Link>
                  <span aria-hidden="true">/</span>
                </Fragment>
              ))}
            </nav>
          )}
          {face}
          <h1 className="cut" title={title} tabIndex={-1}>
            {withoutOverrides(title)}
          </h1>
          {facts && <div className={styles.facts}>{facts}</div>}
        </div>
        <div className={styles.actions}>
          {actions}
          <More>{more}</More>
        </div>
      </header>
      {tabs}
      {isFull ? children : <div className={styles.body}>{children}</div>}
    </main>
  );
}

/** The frame of a page that is not there yet. */
export function Blank({ children }: { children: ReactNode }) {
  return (
    <main id="main" className={styles.main} tabIndex={-1}>
      <div className={styles.head} />
      <div className={styles.body}>{children}</div>
    </main>
  );
}

/** Clicking a row of a table follows the link or presses the button that names it. */
function followRow(event: MouseEvent<HTMLElement>): void {
  const target = event.target as HTMLElement;
  const row = target.closest<HTMLElement>("tr[data-go]");
  if (!row || target.closest("a, button, input, select, label, summary, details") || getSelection()?.toString()) return;
  row.querySelector<HTMLElement>("th :is(a, button), td :is(a, button)")?.click();
}

/** Rare actions, and the page's API operations, each with a link that opens it in the explorer. */
function More({ children }: { children: ReactNode }) {
  const operations = useOperations();
  if (operations.length === 0 && !children) return null;
  return (
    <Menu label="More" button={<Icon name="more" />}>
      {children}
      {Boolean(children) && operations.length > 0 && <hr />}
      {operations.length > 0 && <p>This page in GraphQL</p>}
      {operations.map((request) => (
        <a key={request.query} href={new URL(`explore${fragmentOf(request)}`, base).href}>
          <Icon name="code" />
          {/\w+ (\w+)/.exec(request.query)?.[1]}
        </a>
      ))}
    </Menu>
  );
}

/** A link that looks like a tab. */
export interface Tab extends Crumb {
  key: string;
  /** How many things are behind it, in gray. */
  count?: number | string;
  /** How many of them are red. They show instead of the count. */
  red?: number;
}

/** Links that look like tabs. Each leads to its own address. */
export function Tabs({ label, tabs, current }: { label: string; tabs: Tab[]; current: string }) {
  const row = useCurrentInView(current);
  return (
    <nav ref={row} aria-label={label} className={styles.tabs}>
      {tabs.map((tab) => (
        <Link key={tab.key} href={tab.to} aria-current={tab.key === current ? "page" : undefined}>
          {tab.text}
          {tab.red ? <b> {tab.red} red</b> : tab.count !== undefined && <span> {tab.count}</span>}
        </Link>
      ))}
    </nav>
  );
}
