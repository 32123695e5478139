export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The chance that one of `these` is greater than one of `those` (Mann–Whitney): a half when they are alike. */
export function rankTest(these: readonly number[], those: readonly number[]): number {
  let wins = 0;
  for (const one of these) for (const other of those) wins += one > other ? 1 : one === other ? 0.5 : 0;
  return wins / (these.length * those.length);
}
