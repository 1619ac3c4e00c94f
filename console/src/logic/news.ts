/** A test whose last run did not pass. */
export interface Red {
  failingSince: { run: { createdAt: string }; lastPassed: unknown } | null;
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
  const at = (test: Test) => Date.parse(test.failingSince?.run.createdAt ?? "") || 0;
  const hasPassed = (test: Test) => Number(Boolean(test.failingSince?.lastPassed));
  const byTime = red.toSorted((a, b) => hasPassed(b) - hasPassed(a) || at(b) - at(a));
  const isFresh = (test: Test) => at(test) >= since;
  return { fresh: byTime.filter(isFresh), earlier: byTime.filter((test) => !isFresh(test)) };
}

/** How many milliseconds the rest takes at the same pace; undefined while nothing is done. */
export function timeLeft(done: number, total: number, startedAt: string | null, now: number): number | undefined {
  if (!startedAt || done === 0) return undefined;
  return ((now - Date.parse(startedAt)) / done) * (total - done);
}
