/**
 * When to stop repeating a test. With rates: once its runs clearly favor the good rate. Without rates: once a run
 * fails. Null: never.
 */
export type Stopping = { good?: number | null; bad?: number | null } | null;

/** The choices, with their labels. */
export const stoppings = [
  ["all", "after all attempts"],
  ["failed", "at the first failure"],
  ["decided", "once decided"],
] as const;

export type StoppingName = (typeof stoppings)[number][0];

/** Pass rates that a small number of runs of a good test can distinguish. */
export const usualRates = { good: 0.9, bad: 0.5 };

export function stoppingName(stopping: Stopping | undefined): StoppingName {
  if (!stopping) return "all";
  return stopping.good == null ? "failed" : "decided";
}

/** The input of a choice. */
export function stoppingOf(name: StoppingName, rates = usualRates): Stopping {
  if (name === "all") return null;
  return name === "failed" ? {} : rates;
}

/** How often tests of a schedule are run, in words; empty for once. */
export function repeatsText(repeats: number, stopping: Stopping | undefined): string {
  if (repeats === 1) return "";
  const name = stoppingName(stopping);
  if (name === "all") return ` × ${repeats}`;
  return name === "failed" ? ` × ${repeats} at most, until one fails` : ` × ${repeats} at most, until a pass rate of ${stopping?.good} is likelier than ${stopping?.bad}`;
}
