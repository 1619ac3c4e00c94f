/** Round values from 0 to at least `most`, three to five of them, for the axis of a chart. */
export function ticks(most: number): number[] {
  if (most <= 0) return [0, 1];
  const rough = most / 3;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * unit).find((each) => each >= rough) ?? 10 * unit;
  const count = Math.ceil(most / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

/** A bar of a chart: a day, a week or a month. */
export interface Bar {
  name: string;
  credits: number;
  byChannel: readonly { channel: string; credits: number }[];
}

/** The bar with the most credits, the earliest of equal ones, or undefined if there are no bars. */
export function busiestOf(bars: readonly Bar[]): Bar | undefined {
  const most = Math.max(...bars.map(({ credits }) => credits));
  return bars.find(({ credits }) => credits === most);
}

/** Days as weeks from Monday to Sunday, named by their first day in the range. Sums are rounded to the millionth. */
export function weeks(days: readonly Bar[]): Bar[] {
  const groups: Bar[][] = [];
  for (const day of days) {
    const isMonday = new Date(day.name).getUTCDay() === 1;
    if (isMonday || groups.length === 0) groups.push([]);
    groups.at(-1)?.push(day);
  }
  return groups.map((group) => ({
    name: group[0]?.name ?? "",
    credits: sum(group.map(({ credits }) => credits)),
    byChannel: (group[0]?.byChannel ?? []).map(({ channel }, i) => ({ channel, credits: sum(group.map((day) => day.byChannel[i]?.credits ?? 0)) })),
  }));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + Math.round(value * 1_000_000), 0) / 1_000_000;
}
