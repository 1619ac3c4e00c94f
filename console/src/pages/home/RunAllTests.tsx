import { lazy, Suspense, useState } from "react";
import { Act } from "../../ui/Act";
import { count, plural } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import type { AgentOfHome } from "./query";

const RunAll = lazy(() => import("./RunAll"));

/** Runs the tests of all agents once, after a dialog with the price. */
export function RunAllTests({ all, agents, isRunning, onStarted }: { all: number; agents: readonly AgentOfHome[]; isRunning: boolean; onStarted: () => void }) {
  const [isAsking, setAsking] = useState(false);
  const tested = agents.filter((agent) => agent.all.totalCount > 0);
  const total = tested.reduce((sum, agent) => sum + agent.all.totalCount, 0);
  if (total === 0) return null;
  return (
    <>
      <Act
        scope="simulate"
        className="primary"
        disabled={isAsking || isRunning}
        title={isRunning ? "Tests are running" : `${plural(total, "test")} of ${plural(tested.length, "agent")}, once each`}
        onClick={() => setAsking(true)}
      >
        <Icon name="play" />
        Run all tests
        <span className="unseen"> ({count(total)})</span>
      </Act>
      <Suspense>{isAsking && <RunAll agents={tested} total={total} others={all - total} onStarted={onStarted} close={() => setAsking(false)} />}</Suspense>
    </>
  );
}
