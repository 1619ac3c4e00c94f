import { count, duration, exactCredits } from "../ui/format";

export interface AnswerUsage {
  model: string | null;
  isFallback: boolean;
  inputTokens: number;
  outputTokens: number;
  firstTokenMs: number | null;
  tookMs: number;
  credits: number;
}

/** Whether a language model wrote some of the answers. The offline model answers by rules and takes no tokens. */
export function isMeasured(models: readonly (string | null)[]): boolean {
  return models.some((model) => model !== null && model !== "offline");
}

/** The tokens, price and time of an answer, and its model if that is a fallback; undefined without a language model. */
export function answerText({ model, isFallback, inputTokens, outputTokens, firstTokenMs, tookMs, credits }: AnswerUsage): string | undefined {
  if (!isMeasured([model])) return undefined;
  return [
    ...(isFallback ? [`${model} (fallback)`] : []),
    `${count(inputTokens)} tokens read, ${count(outputTokens)} written`,
    ...(credits > 0 ? [`${exactCredits(credits)} credits`] : []),
    duration(Math.round(tookMs)) + (firstTokenMs === null ? "" : `, first text after ${duration(Math.round(firstTokenMs))}`),
  ].join(" · ");
}

/** "12 of 12 answers by a fallback: small"; undefined without one. */
export function fallbackText({ answers, fallbacks, models }: { answers: number; fallbacks: number; models: readonly string[] }): string | undefined {
  if (fallbacks === 0) return undefined;
  return `${count(fallbacks)} of ${count(answers)} answers by a fallback${fallbacks === answers ? `: ${models.join(", ")}` : ""}`;
}
