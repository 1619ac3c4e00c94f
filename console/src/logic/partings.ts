interface Said {
  text: string;
}

/** The number of the first message that two transcripts do not have in common, undefined if they are the same. */
export function parting(a: readonly Said[], b: readonly Said[]): number | undefined {
  const length = Math.max(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i]?.text !== b[i]?.text) return i;
  return undefined;
}
