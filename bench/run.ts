import { ServerProcess } from "./process.js";
import type { CpuMeter } from "./cpu.js";
import type { Row } from "./report.js";

/** The run that a bench is part of. */
export interface Run {
  databaseUrl: string;
  /** CPU time of the Postgres cluster that has the database. */
  postgres: CpuMeter;
  /** Folder in which servers may keep files until the run ends. */
  folder: string;
  rounds: number;
  /** Maximum rounds: more than `rounds` are run while a verdict is undecided. */
  mostRounds: number;
  /** Milliseconds before and of a measurement. */
  warmUp: number;
  measure: number;
  /** If any, a bench of many cases runs those whose name contains one of these texts, in any letter case. */
  only: readonly string[];
  /** Reports progress. */
  progress(text: string): void;
}

/** Whether a run measures the case of this name. */
export const isChosen = ({ only }: Run, name: string): boolean =>
  only.length === 0 || only.some((text) => name.toLowerCase().includes(text.toLowerCase()));

/** One subject of measurement; returns its rows of the table. */
export interface Bench {
  name: string;
  /** How its figures are made, where that is not the usual way. */
  method?: string;
  measure(run: Run): Promise<Row[]>;
  /** Called when its results are written, after a whole run. */
  onWritten?: () => unknown;
}

/** Starts a server on the run's database. */
export type Start = (run: Run) => Promise<ServerProcess>;

/** Starts a floor or a peer: a script of ours that takes the database from `BENCH_DATABASE_URL`. */
export const startScript =
  (script: string): Start =>
  ({ databaseUrl }) =>
    ServerProcess.start({ script, env: { BENCH_DATABASE_URL: databaseUrl } });

/** How contests are run, and what their figures mean. */
export const usualMethod = ({ rounds, mostRounds, warmUp, measure }: Run): string =>
  `Server, load and Postgres share the machine over loopback. Where contestants are put under load, every round starts each
one as a fresh process, warms it up for ${warmUp / 1_000} s and measures ${measure / 1_000} s of it in pieces, all of them taking turns, so that what
else goes on in the machine meets all alike, and their median counts; ${rounds} rounds, and up to ${mostRounds} while a verdict is
undecided. Costs are medians of the rounds: CPU per request of the server process and of all processes of the Postgres
cluster, from the nanoseconds of schedstat, as sum (server + Postgres). Ratios are of these sums, paired within a round, as
geometric mean with its 95 % confidence interval; a verdict takes all of the interval. Other ratios are of the quantity
shown, as median (lowest–highest). Contestants of a bench responded alike before it began.`;
