export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** A mean with its 95 % confidence interval. */
export interface Interval {
  middle: number;
  low: number;
  high: number;
}

/** 97.5 % quantiles of Student's t distribution, by degrees of freedom from 1 on. */
const quantiles = [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145];

/** The geometric mean of ratios with its confidence interval, which is infinite for less than two of them. */
export function ratioInterval(ratios: readonly number[]): Interval {
  const logs = ratios.map(Math.log);
  const mean = logs.reduce((total, log) => total + log, 0) / logs.length;
  const freedom = logs.length - 1;
  const variance = logs.reduce((total, log) => total + (log - mean) ** 2, 0) / freedom;
  const quantile = quantiles[freedom - 1] ?? (freedom < 1 ? Infinity : quantiles.at(-1)!);
  const reach = freedom < 1 ? Infinity : quantile * Math.sqrt(variance / logs.length);
  return { middle: Math.exp(mean), low: Math.exp(mean - reach), high: Math.exp(mean + reach) };
}
