const dayAndTime = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const withYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const credits = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const whole = new Intl.NumberFormat("en");
const fourDigits = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const oneDigit = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** A moment in local time. Days of other years show the year instead of the time. */
export function shortTime(moment: string, now = new Date()): string {
  const date = new Date(moment);
  return date.getFullYear() === now.getFullYear() ? dayAndTime.format(date) : withYear.format(date);
}

export function showCredits(value: number): string {
  return credits.format(value);
}

export function count(value: number): string {
  return whole.format(value);
}

/** "1 test", "2 tests". */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  const seconds = Math.round(ms / 1_000);
  return ms < 59_950 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** "3 of 8 tests pass, 2 errors, 1 without a result". */
export function testsText(passed: number, failed: number, error: number, total: number): string {
  const other = total - passed - failed - error;
  if (total === 0) return "No tests";
  if (other === total) return `${plural(total, "test")}, no result yet`;
  return `${count(passed)} of ${plural(total, "test")} pass${error > 0 ? `, ${plural(error, "error")}` : ""}${other > 0 ? `, ${count(other)} without a result` : ""}`;
}

/** "3 attempts, 1 hour 30 minutes apart". */
export function attempts(n: number, minutes: number): string {
  const [days, hours, rest] = [Math.floor(minutes / 1_440), Math.floor(minutes / 60) % 24, minutes % 60];
  const parts = [days > 0 && plural(days, "day"), hours > 0 && plural(hours, "hour"), rest > 0 && plural(rest, "minute")].filter(Boolean);
  const spacing = parts.length > 0 ? `${parts.join(" ")} apart` : "without a pause";
  return plural(n, "attempt") + (n > 1 ? `, ${spacing}` : "");
}

export function size(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  return bytes < 1_048_576 ? `${(bytes / 1_024).toFixed(0)} KB` : `${(bytes / 1_048_576).toFixed(1)} MB`;
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** A duration for an estimate: "8 s", "41 min", "3 h". */
export function roughly(ms: number): string {
  if (ms < 60_000) return `${Math.max(1, Math.round(ms / 1_000))} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}

/** Credits with four significant digits, so that small prices differ visibly. */
export function exactCredits(value: number): string {
  return fourDigits.format(value);
}

/** Credits to read at a glance: whole from 100 on, else with one digit. */
export function shortCredits(value: number): string {
  return Math.abs(value) >= 100 ? whole.format(Math.round(value)) : oneDigit.format(value);
}
