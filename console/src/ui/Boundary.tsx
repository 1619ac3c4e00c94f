import { Component, useEffect, useState, type ReactNode } from "react";
import { base } from "../api/base";
import { Icon } from "./Icon";
import { Blank, Page } from "./Page";
import { Empty, Loading } from "./states";
import { useRepeat } from "./useRepeat";

/** The errors of scripts that could not be loaded. */
const unloaded = new WeakSet<Error>();
addEventListener("vite:preloadError", ({ payload }) => unloaded.add(payload));

interface Props {
  /** The address. A page that fails at one may work at another. */
  at: string;
  children: ReactNode;
}

/** Shows what the user can do when a page fails. */
export class Boundary extends Component<Props, { fault?: Error | undefined }> {
  override state: { fault?: Error | undefined } = {};

  static getDerivedStateFromError(fault: Error) {
    return { fault };
  }

  override componentDidUpdate(before: Props) {
    if (before.at !== this.props.at && this.state.fault) this.setState({ fault: undefined });
  }

  override render() {
    const { fault } = this.state;
    if (!fault) return this.props.children;
    if (unloaded.has(fault)) return <Unloaded />;
    return (
      <Page title="This page failed">
        <Empty title="This is a bug in the console.">
          <p className="mono">{fault.message}</p>
          <button type="button" onClick={() => location.reload()}>
            Reload page
          </button>
        </Empty>
      </Page>
    );
  }
}

/** How often an unreachable gateway is asked again, in milliseconds. */
const pace = 5_000;

/** The name in this tab's storage of the build that was reloaded. */
const reloaded = "agentgraph:reloaded";

/**
 * A page whose script could not be loaded. The server is unreachable, or an upgrade has replaced the script. The page is
 * reloaded when the gateway answers, but only once for the same build.
 */
function Unloaded() {
  const [problem, setProblem] = useState<string>();
  const isAway = problem === away;
  const load = async (isAsked: boolean) => {
    const isThere = await fetch(base).then(({ ok }) => ok, () => false);
    if (!isThere) return setProblem(away);
    if (!isAsked && sessionStorage.getItem(reloaded) === import.meta.url) return setProblem("Its script did not load.");
    sessionStorage.setItem(reloaded, import.meta.url);
    location.reload();
  };
  useEffect(() => void load(false), []);
  useRepeat(() => void load(true), pace, isAway);
  if (!problem) {
    return (
      <Blank>
        <Loading />
      </Blank>
    );
  }
  return (
    <Page title="This page could not be loaded">
      <div className="note bad row" role="alert">
        <Icon name="failed" />
        <span>{problem}</span>
        <button type="button" className="push" onClick={() => void load(true)}>
          Try again
        </button>
      </div>
    </Page>
  );
}

const away = "The server is unreachable.";
