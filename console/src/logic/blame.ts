export interface PastRun {
  id: string;
  status: string;
  promptVersion: number;
}

/** Counts the judged and the passed runs of each saved prompt version, newest version first. */
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
