import { count, percent, plural, roughly, showCredits } from "../ui/format";

/** What an execution would take, and which drops of pass rates a comparison with it would detect. */
export interface Estimated {
  runs: number;
  runsAtMost: number;
  seconds: number | null;
  credits: number | null;
  reviewCredits: number | null;
  noticedFalls: readonly { repeats: number; passRate: number | null }[];
}

type Price = Omit<Estimated, "noticedFalls">;

/** "60 runs, about 3 min, 40.00 credits" */
export function priceText({ runs, runsAtMost, seconds, credits, reviewCredits }: Price): string {
  return [
    plural(runs, "run") + (runs < runsAtMost ? ` if all pass, at most ${count(runsAtMost)}` : ""),
    ...(seconds == null ? [] : [`about ${roughly(seconds * 1000)}`]),
    ...(credits ? [`${showCredits(credits)} credits`] : []),
    ...(reviewCredits ? [`${showCredits(reviewCredits)} of them to review contacts`] : []),
  ].join(", ");
}

/** A sentence about credits that are not known, or "". */
export function unknownPrice(credits: number | null): string {
  return credits === null ? " The credits are not known, because no earlier run recorded any." : "";
}

/** The price of several executions together. What is unknown for all of them stays unknown. */
export function totalOf(prices: readonly Price[]): Price {
  const sum = (values: readonly (number | null)[]) => {
    const known = values.filter((value) => value !== null);
    return known.length === 0 ? null : known.reduce((a, b) => a + b);
  };
  return {
    runs: sum(prices.map(({ runs }) => runs)) ?? 0,
    runsAtMost: sum(prices.map(({ runsAtMost }) => runsAtMost)) ?? 0,
    seconds: sum(prices.map(({ seconds }) => seconds)),
    credits: sum(prices.map(({ credits }) => credits)),
    reviewCredits: sum(prices.map(({ reviewCredits }) => reviewCredits)),
  };
}

/** An estimate in sentences. */
export function estimateText({ noticedFalls: [chosen, most], ...price }: Estimated): string {
  const notices = chosen?.passRate == null ? "no drop of a single test" : `a test's drop from 100 % to ${percent(chosen.passRate)}`;
  const more = most?.passRate == null ? "" : `; with ${most.repeats} repeats, a drop to ${percent(most.passRate)}`;
  return `${priceText(price)}.${unknownPrice(price.credits)} A comparison would detect ${notices}${more}.`;
}
