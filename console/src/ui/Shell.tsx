import { useEffect, useEffectEvent, useRef, useState, type MouseEvent, type ReactNode, type RefObject } from "react";
import { useQuery } from "urql";
import { Link, useLocation } from "wouter";
import { base, gatewayURL } from "../api/base";
import { graphql } from "../api/graphql";
import { useLiveStatus } from "../api/live";
import { signedIn } from "../api/session";
import { may } from "./Act";
import { announce, announceIn } from "./announce";
import { Ask } from "./Ask";
import { Boundary } from "./Boundary";
import { Brand } from "./Brand";
import { count } from "./format";
import { Icon } from "./Icon";
import type { IconName } from "./icons";
import { Keyboard, KeyboardDialogs, openHelp } from "./Keyboard";
import { leave } from "./leave";
import { Menu } from "./Menu";
import { accountSections, sections } from "./sections";
import { Segment } from "./Segment";
import styles from "./Shell.module.css";
import { Toasts } from "./Toasts";
import { useTop } from "./useTop";

// The red tests have the arguments of the home page, so that its newer answers count here too.
const ShellQuery = graphql(`
  query Shell($seesPlan: Boolean!) {
    company { id name subscription @include(if: $seesPlan) { planName creditsIncluded creditsUsed status } }
    server { version model isOffline }
    agentTests(first: 50, filter: { lastRunStatuses: [Failed, Error] }) { totalCount }
    simulationChats(first: 1, filter: { statuses: [Replying] }) { totalCount }
  }
`);

/** The sections of pages whose addresses begin with another word. */
const parents: Record<string, string> = { runs: "tests", compare: "tests", schedules: "tests" };

/** How old the numbers in the sidebar may be when another section opens, in milliseconds. */
const lifetime = 10_000;

/** The frame around every page: the sidebar or, on a telephone, a bar that opens it. */
export function Shell({ children }: { children: ReactNode }) {
  const [location] = useLocation();
  const first = location.split("/")[1] ?? "";
  const section = parents[first] ?? first;
  const data = useShell(section);
  const [isOpen, setOpen] = useState(false);
  const [menuAt, setMenuAt] = useState(location);
  if (menuAt !== location) {
    setMenuAt(location);
    setOpen(false);
  }
  useTop(location);
  const button = useMenu(isOpen, () => setOpen(false));
  const follow = ({ target }: MouseEvent) => {
    if (!isOpen || !(target as Element).closest("a")) return;
    setOpen(false);
    button.current?.focus();
  };
  useNetwork();
  const red = data?.agentTests.totalCount ?? 0;
  const isChatting = (data?.simulationChats.totalCount ?? 0) > 0;
  return (
    <div className={styles.app}>
      <a className={styles.skip} href="#main">
        Skip to content
      </a>
      <header className={styles.bar}>
        <button ref={button} type="button" className="quiet only" aria-label="Menu" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Icon name={isOpen ? "close" : "menu"} />
        </button>
        <Brand />
        <Keyboard isSmall />
      </header>
      <aside className={styles.side} data-open={isOpen} onClick={follow}>
        <Brand />
        <Keyboard />
        <nav aria-label="Main" className={styles.nav}>
          {sections.map(([path, text, icon]) => (
            <NavLink key={path} path={path} text={text} icon={icon} isCurrent={section === path}>
              {path === "chats" && isChatting && <span className={styles.live} title="A chat is being answered" />}
              {path === "tests" && red > 0 && (
                <span className={styles.count} title={`${count(red)} red`}>
                  {count(red)}
                  <span className="unseen"> red</span>
                </span>
              )}
            </NavLink>
          ))}
        </nav>
        <nav aria-label="Account" className={styles.nav}>
          {accountSections.map(([path, text, icon]) => (
            <NavLink key={path} path={path} text={text} icon={icon} isCurrent={section === path} />
          ))}
          <a href={new URL("explore", base).href}>
            <Icon name="code" />
            API
          </a>
        </nav>
        <Foot data={data} />
      </aside>
      <Boundary at={location}>
        {children}
        <KeyboardDialogs />
      </Boundary>
      <Toasts />
      <p ref={announceIn} role="status" className="unseen" />
      <Ask />
    </div>
  );
}

/** While the menu of a telephone is open, it covers the page. Escape closes it, and so does a wider window. */
function useMenu(isOpen: boolean, onClose: () => void): RefObject<HTMLButtonElement | null> {
  const button = useRef<HTMLButtonElement>(null);
  const close = useEffectEvent(onClose);
  useEffect(() => {
    if (!isOpen) return;
    const narrow = matchMedia("(max-width: 860px)");
    const onResize = () => narrow.matches || close();
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || (event.target as Element).closest("dialog")) return;
      close();
      button.current?.focus();
    };
    narrow.addEventListener("change", onResize);
    document.addEventListener("keydown", onKey);
    return () => {
      narrow.removeEventListener("change", onResize);
      document.removeEventListener("keydown", onKey);
    };
  }, [isOpen]);
  return button;
}

/** Announces that the computer goes offline, and online again. */
function useNetwork(): void {
  useEffect(() => {
    const onOnline = () => announce("You are online again");
    const onOffline = () => announce("You are offline");
    addEventListener("online", onOnline);
    addEventListener("offline", onOffline);
    return () => {
      removeEventListener("online", onOnline);
      removeEventListener("offline", onOffline);
    };
  }, []);
}

/** The data of the frame. It is read again when another section opens, unless it is recent. */
function useShell(section: string) {
  const [{ data }, read] = useQuery({ query: ShellQuery, variables: { seesPlan: may("consumption") }, requestPolicy: "cache-first" });
  const readAt = useRef(0);
  useEffect(() => {
    if (Date.now() - readAt.current <= lifetime) return;
    if (readAt.current) read({ requestPolicy: "network-only" });
    readAt.current = Date.now();
  }, [section, read]);
  return data;
}

function NavLink({ path, text, icon, isCurrent, children }: { path: string; text: string; icon: IconName; isCurrent: boolean; children?: ReactNode }) {
  return (
    <Link href={`/${path}`} aria-current={isCurrent ? "page" : undefined}>
      <Icon name={icon} />
      {text}
      {children}
    </Link>
  );
}

function Foot({ data }: { data: ReturnType<typeof useShell> }) {
  const subscription = data?.company.subscription;
  const { session } = signedIn();
  return (
    <div className={styles.foot}>
      <LivePill />
      {data?.server.isOffline && (
        <span className={styles.offline} title="No language model is configured: a rule-based model answers">
          offline model
        </span>
      )}
      {subscription && (
        <Link href="/consumption" className={styles.plan} title={`Plan ${subscription.planName}`}>
          <b>{count(Math.round(subscription.creditsUsed))}</b> of {count(subscription.creditsIncluded)} credits
          <svg className="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
            <rect width={Math.min(100, (100 * subscription.creditsUsed) / Math.max(subscription.creditsIncluded, 1))} height="6" />
          </svg>
        </Link>
      )}
      <div className={styles.who}>
        <Menu
          isUp
          className={styles.company}
          button={
            <>
              <span className="cut">{data?.company.name ?? "…"}</span>
              <Icon name="updown" className="push" />
            </>
          }
        >
          <Theme />
          <hr />
          <p>
            Session until {new Date(session?.expiresAt ?? 0).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit" })}, with {session?.scopes.join(", ")}
          </p>
          {data && (
            <p>
              agentgraph {data.server.version}, model: {data.server.isOffline ? "offline, rule-based" : data.server.model}
            </p>
          )}
          <hr />
          <button type="button" onClick={() => void leave()}>
            Sign out of all tabs
          </button>
        </Menu>
        <Menu isUp label="Help and documentation" className={styles.help} button={<Icon name="help" />}>
          <a href={gatewayURL("docs").href}>
            <Icon name="doc" />
            REST reference
          </a>
          <a href={new URL("explore", base).href}>
            <Icon name="code" />
            API explorer
          </a>
          <button type="button" onClick={openHelp}>
            <Icon name="help" />
            Keyboard shortcuts
          </button>
        </Menu>
      </div>
    </div>
  );
}

function LivePill() {
  const status = useLiveStatus();
  return (
    <span role="status" className={styles.pill} data-status={status}>
      {status === "live" && "Live"}
      {status === "reconnecting" && "Reconnecting…"}
    </span>
  );
}

type ThemeName = "" | "light" | "dark";

function Theme() {
  const [theme, setTheme] = useState(() => (document.documentElement.dataset.theme ?? "") as ThemeName);
  const change = (next: ThemeName) => {
    if (next) {
      document.documentElement.dataset.theme = next;
      localStorage.setItem("agentgraph:theme", next);
    } else {
      delete document.documentElement.dataset.theme;
      localStorage.removeItem("agentgraph:theme");
    }
    setTheme(next);
  };
  return (
    <div className={styles.theme}>
      <Segment
        label="Theme"
        options={[
          ["", "System"],
          ["light", "Light"],
          ["dark", "Dark"],
        ]}
        value={theme}
        set={change}
      />
    </div>
  );
}
