import type { Place } from "./keys";

interface Group {
  name: string;
  places: Place[];
}

/** The groups with each place once, in the first group that has it. Groups without places are left out. */
export function eachOnce(groups: readonly Group[]): Group[] {
  const seen = new Set<string>();
  return groups
    .map(({ name, places }) => ({ name, places: places.filter(({ to }) => !seen.has(to) && seen.add(to)) }))
    .filter(({ places }) => places.length > 0);
}
