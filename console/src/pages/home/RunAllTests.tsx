import { lazy, Suspense } from "react";
import { Act, may } from "../../ui/Act";
import { count, plural } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { useNew } from "../../ui/useNew";
import type { AgentOfHome } from "./query";

const RunAll = lazy(() => import("./RunAll"));

/** Runs the tests of all agents once, after a dialog with the price. */
export function RunAllTests({ all, agents, isRunning, onStarted }: { all: number; agents: readonly AgentOfHome[]; isRunning: boolean; onStarted: () => void }) {
  const [made, setNew] = useNew();
  const isAsking = made === "run" && may("simulate");
  if (all === 0) return null;
  return (
    <>
      <Act
        scope="simulate"
        className="primary"
        disabled={isAsking || isRunning}
        title={isRunning ? "Tests are running" : `${plural(all, "test")}, once each`}
        onClick={() => setNew("run")}
      >
        <Icon name="play" />
        Run all tests
        <span className="unseen"> ({count(all)})</span>
      </Act>
      <Suspense>{isAsking && <RunAll agents={agents} all={all} onStarted={onStarted} close={() => setNew()} />}</Suspense>
    </>
  );
}
