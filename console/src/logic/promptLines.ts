export interface PromptLine {
  /** The text with a line break. */
  text: string;
  isHeading: boolean;
  /** The line is not in the saved prompt. */
  isNew: boolean;
}

/** The lines of a prompt that is being edited. */
export function promptLines(text: string, saved: string): PromptLine[] {
  const known = new Set(saved.split("\n"));
  return text.split("\n").map((line) => ({
    text: `${line}\n`,
    isHeading: /^#{1,6} /.test(line),
    isNew: line.trim() !== "" && !known.has(line),
  }));
}

/** How many lines of the text are new, and how many of the saved ones were removed. */
export function lineChanges(text: string, saved: string): { added: number; removed: number } {
  const counted = (lines: string[]) => {
    const counts = new Map<string, number>();
    for (const line of lines) if (line.trim()) counts.set(line, (counts.get(line) ?? 0) + 1);
    return counts;
  };
  const [now, before] = [counted(text.split("\n")), counted(saved.split("\n"))];
  const missing = (from: Map<string, number>, of: Map<string, number>) => [...from].reduce((sum, [line, n]) => sum + Math.max(0, n - (of.get(line) ?? 0)), 0);
  return { added: missing(now, before), removed: missing(before, now) };
}
