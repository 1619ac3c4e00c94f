/** How many contacts were done at a moment, in milliseconds. */
export interface Sample {
  at: number;
  done: number;
}

/** How long a sample counts, and how far apart samples must be to tell a pace, in milliseconds. */
const window = 5 * 60_000;
const least = 10_000;

/** Adds a sample, without those that are too old to count. */
export function sampled(samples: readonly Sample[], next: Sample): Sample[] {
  return [...samples.filter((sample) => next.at - sample.at <= window), next];
}

/** How many a minute are done, by the samples in the order of time; undefined while they are too near each other. */
export function paceOf(samples: readonly Sample[]): number | undefined {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last.at - first.at < least || last.done < first.done) return undefined;
  return ((last.done - first.done) * 60_000) / (last.at - first.at);
}
