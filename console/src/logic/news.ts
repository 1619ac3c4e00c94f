/** A test whose last run did not pass. */
export interface Red {
  /** Since when its judged runs fail. Null if only runs with an error keep it from passing. */
  failingSince: { run: { createdAt: string }; lastPassed: unknown } | null;
  /** Its last runs, newest first. */
  history: readonly { status: string; createdAt: string }[];
}

/** When a test turned red, in milliseconds, and whether it passed before. Errors count from the first run after the last passed one. */
export function redSince({ failingSince, history }: Red): { at: number; hasPassed: boolean } {
  if (failingSince) return { at: Date.parse(failingSince.run.createdAt), hasPassed: Boolean(failingSince.lastPassed) };
  const passed = history.findIndex(({ status }) => status === "Passed");
  const first = history[passed < 0 ? history.length - 1 : Math.max(0, passed - 1)];
  return { at: Date.parse(first?.createdAt ?? "") || 0, hasPassed: passed >= 0 };
}

/** The start of the day before, in local time. */
export function yesterday(now: Date): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
}

/**
 * The tests that turned red since yesterday, or failed in their first run since then, and those that were red before. Of
 * both, tests that passed before come first, the latest first.
 */
export function turned<Test extends Red>(red: readonly Test[], now: Date): { fresh: Test[]; earlier: Test[] } {
  const since = yesterday(now).getTime();
  const dated = red.map((test) => ({ test, ...redSince(test) }));
  const byTime = dated.toSorted((a, b) => Number(b.hasPassed) - Number(a.hasPassed) || b.at - a.at);
  const of = (isFresh: boolean) => byTime.filter(({ at }) => at >= since === isFresh).map(({ test }) => test);
  return { fresh: of(true), earlier: of(false) };
}

/** How many milliseconds the rest takes at the same pace; undefined while nothing is done. */
export function timeLeft(done: number, total: number, startedAt: string | null, now: number): number | undefined {
  if (!startedAt || done === 0) return undefined;
  return ((now - Date.parse(startedAt)) / done) * (total - done);
}
