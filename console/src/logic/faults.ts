/** The part of an error that matters here. */
export interface Refusal {
  graphQLErrors: readonly { message: string; extensions: Record<string, unknown> }[];
  networkError?: Error;
}

/** Faults by the path in the mutation's input, such as "promptSettings.topN" or "items.3.phoneNumber". */
export function faultsOf(error: Refusal | undefined): Record<string, string[]> {
  return Object.assign({}, ...(error?.graphQLErrors ?? []).map((e) => e.extensions.fields)) as Record<string, string[]>;
}

/** The faults of a path and of the paths below it. A path in a list begins with the item's name, if it has one. */
export function faultsAt(error: Refusal | undefined, path: string, names: readonly string[] = []): string[] {
  return Object.entries(faultsOf(error)).flatMap(([at, faults]) => {
    if (at !== path && !at.startsWith(`${path}.`)) return [];
    const name = names[parseInt(at.slice(path.length + 1))];
    return name ? faults.map((fault) => `${name} ${fault}`) : faults;
  });
}

/** The faults of fields that are not shown, with their paths. Undefined if the error has other causes too. */
export function unshownFaults(error: Refusal, shown: readonly string[]): string[] | undefined {
  if (error.networkError || error.graphQLErrors.some((e) => !e.extensions.fields)) return undefined;
  return Object.entries(faultsOf(error))
    .filter(([at]) => !shown.some((path) => at === path || at.startsWith(`${path}.`)))
    .map(([at, faults]) => `${at}: ${faults.join(", ")}`);
}
