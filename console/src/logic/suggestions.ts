/** At most this many suggestions. */
const most = 3;

const saying = /^says:\s*"(.+)"\s*$/m;

/** The first lines of contacts in the scenarios of tests, each once, without lines that were said already. */
export function suggestions(scenarios: readonly string[], said: ReadonlySet<string>): string[] {
  const firsts = scenarios.flatMap((scenario) => saying.exec(scenario)?.[1] ?? []).filter((text) => text.length <= 80 && !/[{}]/.test(text));
  return [...new Set(firsts)].filter((text) => !said.has(text)).slice(0, most);
}
