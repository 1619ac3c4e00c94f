/** Credits have at most six decimals, but sums of them as doubles may have more. */
function millionths(credits: number): number {
  return Math.round(credits * 1_000_000);
}

/** Whether each list of parts adds up to the total, to the millionth. */
export function addUp(total: number, ...parts: readonly { credits: number }[][]): boolean {
  return parts.every((part) => part.reduce((sum, { credits }) => sum + millionths(credits), 0) === millionths(total));
}

/** A range of whole UTC days, both inclusive, as ISO dates. */
export interface Days {
  from: string;
  to: string;
}

const isoDay = (date: Date) => date.toISOString().slice(0, 10);

/** The calendar month `back` months ago. The current month ends today. */
export function month(back: number, today: Date): Days {
  const first = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - back, 1));
  const last = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - back + 1, 0));
  return { from: isoDay(first), to: isoDay(last < today ? last : today) };
}

/** How many days a range has. */
export function dayCount({ from, to }: Days): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000) + 1;
}

/** This month and the eleven before it. */
export function year(today: Date): Days {
  return { from: month(11, today).from, to: isoDay(today) };
}

/** The use of a whole period, extrapolated from its use until now; undefined on its first day. */
export function atThisPace(used: number, start: string, end: string, now: Date): number | undefined {
  const passed = now.getTime() - Date.parse(start);
  if (passed < 86_400_000 || now.getTime() >= Date.parse(end)) return undefined;
  return (used * (Date.parse(end) - Date.parse(start))) / passed;
}
