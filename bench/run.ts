import type { CpuMeter } from "./cpu.js";
import { ServerProcess } from "./process.js";
import type { Row } from "./report.js";

/** The run that a bench is part of. */
export interface Run {
  databaseUrl: string;
  /** CPU time of the Postgres cluster that has the database. */
  postgres: CpuMeter;
  postgresVersion: string;
  /** Folder in which servers may keep files until the run ends. */
  folder: string;
  /** Whether it measures briefly. */
  isQuick: boolean;
  /** Whether its results are written. */
  isWhole: boolean;
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

/** One subject of measurement. */
export interface Bench {
  name: string;
  /** How its figures are made: a paragraph below their table. A bench without one writes its results itself. */
  method?: (run: Run) => string;
  /** Resolves to its rows of the table. */
  measure: (run: Run) => Promise<Row[]>;
}

/** Starts a server on the run's database. */
export type Start = (run: Run) => Promise<ServerProcess>;

/** Starts a floor or a peer: a script of ours that takes the database from `BENCH_DATABASE_URL`. */
export const startScript =
  (script: string): Start =>
  ({ databaseUrl }) =>
    ServerProcess.start(script, { BENCH_DATABASE_URL: databaseUrl });
