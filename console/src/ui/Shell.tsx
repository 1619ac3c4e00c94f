import { useState, type ReactNode } from "react";
import { useQuery } from "urql";
import { Link, useLocation } from "wouter";
import { base } from "../api/base";
import { graphql } from "../api/graphql";
import { useLiveStatus } from "../api/live";
import { signedIn, signOut } from "../api/session";
import { may } from "./Act";
import { Boundary } from "./Boundary";
import { count } from "./format";
import { Keyboard } from "./Keyboard";
import { sections } from "./sections";
import styles from "./Shell.module.css";
import { useCurrentInView } from "./useCurrentInView";
import { useTop } from "./useTop";

const ShellQuery = graphql(`
  query Shell($seesPlan: Boolean!) {
    company { id name subscription @include(if: $seesPlan) { planName creditsIncluded creditsUsed status } }
    server { version model isOffline }
  }
`);

/** The sections of pages whose addresses begin with another word. */
const parents: Record<string, string> = { runs: "tests", compare: "tests" };

/** The frame around every page. */
export function Shell({ children }: { children: ReactNode }) {
  const [{ data }] = useQuery({ query: ShellQuery, variables: { seesPlan: may("consumption") }, requestPolicy: "cache-first" });
  const [location] = useLocation();
  const first = location.split("/")[1] ?? "";
  const section = parents[first] ?? first;
  const nav = useCurrentInView(section);
  useTop(location);
  const subscription = data?.company.subscription;
  return (
    <>
      <a className={styles.skip} href="#main">
        Skip to content
      </a>
      <header className={styles.header}>
        <Link href="/agents" className={styles.brand}>
          agentgraph
        </Link>
        <nav ref={nav} aria-label="Sections" className={styles.nav}>
          {sections.map(([path, text]) => (
            <Link key={path} href={`/${path}`} aria-current={section === path ? "page" : undefined}>
              {text}
            </Link>
          ))}
          <a href={new URL("explore", base).href}>API</a>
        </nav>
        <div className={styles.end}>
          <LivePill />
          <Keyboard />
          {data?.server.isOffline && (
            <span className={styles.offline} title="Offline model: no language model is configured">
              offline model
            </span>
          )}
          {subscription && (
            <Link href="/consumption" className={styles.credits} title={`Plan ${subscription.planName}: credits used of those included`}>
              {count(Math.round(subscription.creditsUsed))} / {count(subscription.creditsIncluded)} credits
            </Link>
          )}
          <ThemeButton />
          <details className={styles.menu}>
            <summary>{data?.company.name ?? "…"}</summary>
            <div>
              <p className="small muted">
                Session expires {new Date(signedIn().session?.expiresAt ?? 0).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}, to{" "}
                {signedIn().session?.scopes.join(", ")}
              </p>
              {data && (
                <p className="small muted">
                  agentgraph {data.server.version}, model: {data.server.isOffline ? "offline, rule-based" : data.server.model}
                </p>
              )}
              <button type="button" onClick={() => void signOut()}>
                Sign out of all tabs
              </button>
            </div>
          </details>
        </div>
      </header>
      <Boundary at={location}>{children}</Boundary>
    </>
  );
}

function LivePill() {
  const status = useLiveStatus();
  return (
    <span role="status" className={styles.pill} data-status={status}>
      {status === "live" && "● live"}
      {status === "reconnecting" && "○ reconnecting"}
    </span>
  );
}

const themes = ["", "light", "dark"] as const;
const themeNames = { "": "system", light: "light", dark: "dark" };

function ThemeButton() {
  const [theme, setTheme] = useState(() => (document.documentElement.dataset.theme ?? "") as (typeof themes)[number]);
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? "";
  const change = () => {
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
    <button type="button" className={`plain ${styles.theme}`} onClick={change} aria-label={`Colors: ${themeNames[theme]}. Change to ${themeNames[next]}`}>
      <span aria-hidden="true">◐</span>
    </button>
  );
}
