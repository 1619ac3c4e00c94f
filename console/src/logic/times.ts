const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const thisYear = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" });
const withYear = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", year: "numeric" });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "long" });

/** How long ago a moment was, or how soon it is: "just now", "2 min ago", "in 3 h". From thirty days on it is a date. */
export function relativeTime(at: string, now: number): string {
  const moment = new Date(at);
  const distance = now - moment.getTime();
  const span = Math.abs(distance);
  if (span < minute) return distance < 0 ? "soon" : "just now";
  if (span >= 30 * day) return (moment.getFullYear() === new Date(now).getFullYear() ? thisYear : withYear).format(moment);
  const text = span < hour ? `${Math.floor(span / minute)} min` : span < day ? `${Math.floor(span / hour)} h` : `${Math.floor(span / day)} d`;
  return distance < 0 ? `in ${text}` : `${text} ago`;
}

/** A moment to the second, in local time with its zone. */
export function exactTime(at: string): string {
  return exact.format(new Date(at));
}
