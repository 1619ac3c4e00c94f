/** The number of contacts that were done at a moment. `at` is the moment in milliseconds. */
export interface Sample {
  at: number;
  done: number;
}

/** The age up to which samples count, and the least time between them to compute a pace, in milliseconds. */
const window = 5 * 60_000;
const least = 10_000;

/** Adds a sample, without those that are too old to count. */
export function sampled(samples: readonly Sample[], next: Sample): Sample[] {
  return [...samples.filter((sample) => next.at - sample.at <= window), next];
}

/** Contacts per minute, from samples in order of time; undefined while the samples are too close together. */
export function paceOf(samples: readonly Sample[]): number | undefined {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last.at - first.at < least || last.done < first.done) return undefined;
  return ((last.done - first.done) * 60_000) / (last.at - first.at);
}
