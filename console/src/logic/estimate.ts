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

/** An estimate in two sentences. */
export function estimateText({ runs, runsAtMost, seconds, credits, reviewCredits, noticedFalls: [chosen, most] }: Estimated): string {
  const takes = [
    plural(runs, "run") + (runs < runsAtMost ? ` if all pass, at most ${count(runsAtMost)}` : ""),
    ...(seconds == null ? [] : [`about ${roughly(seconds * 1000)}`]),
    ...(credits ? [`${showCredits(credits)} credits`] : []),
    ...(reviewCredits ? [`${showCredits(reviewCredits)} of them to review contacts`] : []),
  ];
  const notices = chosen?.passRate == null ? "no drop of a single test" : `a test's drop from 100 % to ${percent(chosen.passRate)}`;
  const more = most?.passRate == null ? "" : `; with ${most.repeats} repeats, a drop to ${percent(most.passRate)}`;
  return `${takes.join(", ")}. A comparison would detect ${notices}${more}.`;
}
