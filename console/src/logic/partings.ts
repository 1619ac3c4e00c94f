interface Said {
  text: string;
}

/** The number of the first message that differs between two transcripts; undefined if they are identical. */
export function parting(a: readonly Said[], b: readonly Said[]): number | undefined {
  const length = Math.max(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i]?.text !== b[i]?.text) return i;
  return undefined;
}
