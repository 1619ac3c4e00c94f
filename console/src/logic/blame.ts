export interface PastRun {
  id: string;
  status: string;
  promptVersion: number;
}

/** The run since which a test fails. */
export interface Blame<Run extends PastRun> {
  /** The first run that failed after the last one that passed, or the earliest known. */
  since: Run;
  /** The last run that passed, undefined if none is known. */
  lastPassed: Run | undefined;
}

/** Looks back from the newest run to the first failure after a pass. Undefined if the newest judged run did not fail. */
export function redSince<Run extends PastRun>(newestFirst: readonly Run[]): Blame<Run> | undefined {
  let since: Run | undefined;
  for (const run of newestFirst) {
    if (run.status === "Passed") return since && { since, lastPassed: run };
    if (run.status === "Failed") since = run;
  }
  return since && { since, lastPassed: undefined };
}

/** How many runs of each prompt version were judged, and how many of those passed, newest version first. */
export function byVersion(runs: readonly PastRun[]): { version: number; passed: number; judged: number }[] {
  const versions = new Map<number, { version: number; passed: number; judged: number }>();
  for (const run of runs) {
    if (run.status !== "Passed" && run.status !== "Failed") continue;
    const sum = versions.get(run.promptVersion) ?? { version: run.promptVersion, passed: 0, judged: 0 };
    sum.judged++;
    if (run.status === "Passed") sum.passed++;
    versions.set(run.promptVersion, sum);
  }
  return [...versions.values()].sort((a, b) => b.version - a.version);
}
