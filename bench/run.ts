import { ServerProcess } from "./process.js";
import type { Row } from "./report.js";

/** What a bench needs to know of the run it is part of. */
export interface Run {
  databaseUrl: string;
  /** Where servers may keep files until the run is over. */
  folder: string;
  rounds: number;
  /** Milliseconds before and of a measurement. */
  warmUp: number;
  measure: number;
  /** Says what is going on. */
  progress(text: string): void;
}

/** One subject of measurement; gives its lines of the table. */
export interface Bench {
  name: string;
  measure(run: Run): Promise<Row[]>;
}

/** Starts a server on the run's database. */
export type Start = (run: Run) => Promise<ServerProcess>;

/** Starts a floor or a peer: a script of ours that takes the database from `BENCH_DATABASE_URL`. */
export const startScript =
  (script: string): Start =>
  ({ databaseUrl }) =>
    ServerProcess.start({ script, env: { BENCH_DATABASE_URL: databaseUrl } });
