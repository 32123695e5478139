import type { CpuMeter } from "./cpu.js";
import { median } from "./statistics.js";

/** Microseconds of CPU time per request, frame or the like. */
export interface Cost {
  server: number;
  /** Of the whole cluster, which must serve nothing else meanwhile. */
  postgres: number;
}

/** Starts a measurement; the returned function ends it and divides by the number of requests. */
export function measureCost({ cpu }: { cpu: CpuMeter }, postgres: CpuMeter): (requests: number) => Cost {
  const before = { server: cpu.read(), postgres: postgres.read() };
  return (requests) => ({
    server: (cpu.read() - before.server) / requests / 1_000,
    postgres: (postgres.read() - before.postgres) / requests / 1_000,
  });
}

/** The figure that verdicts use. */
export const total = ({ server, postgres }: Cost): number => server + postgres;

/** The median costs: the total and its parts. */
export function showCosts(costs: readonly Cost[]): string {
  const of = (part: (cost: Cost) => number) => microseconds(median(costs.map(part)));
  return `${of(total)} µs CPU (${of(({ server }) => server)} + ${of(({ postgres }) => postgres)})`;
}

const microseconds = (value: number) => value.toFixed(value < 10 ? 1 : 0);
