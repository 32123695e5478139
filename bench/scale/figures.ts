// The figures of a deployment by those that were measured, which `results/scale.json` holds.
import { readFileSync, writeFileSync } from "node:fs";
import { daemons, dashboards, type KindName, kindNames, mix, users } from "./model.js";

/** The cost of one operation: microseconds of CPU, kilobytes of the log of Postgres, and rows that it adds. */
export interface Unit {
  servers: number;
  postgres: number;
  wal: number;
  rows: Readonly<Record<string, number>>;
}

export interface Figures {
  /** When and on which machine the bench ran. */
  machine: string;
  units: Readonly<Record<KindName, Unit>>;
  /** How many times as much CPU as the sum of its operations the mix costs. */
  overhead: number;
  /** How many times as much of the log of Postgres: after each checkpoint, it has whole pages. */
  walOverhead: number;
  /** Megabytes of memory of the largest replica under load. */
  replica: number;
  /** Bytes of a row with its indexes. */
  stored: Readonly<Record<string, number>>;
  /** How many times as much two replicas do as one, by load. */
  replicas: Readonly<Record<string, number>>;
}

const results = new URL("../results/scale.json", import.meta.url);

export const readFigures = (): Figures => JSON.parse(readFileSync(results, "utf8")) as Figures;

export const writeFigures = (figures: Figures): void => writeFileSync(results, `${JSON.stringify(figures, null, 2)}\n`);

/** Assumptions of the arithmetic beside the model. */
export const assumed = {
  /** The share of a machine that is busy in the busiest hour. */
  busy: 0.6,
  /**
   * A replica is one thread: the share of a core that it is busy in the busiest hour. It opens connections for its pool, and
   * one for hints.
   */
  replica: { busy: 0.7, pool: 10 },
  /** Connections beside those of replicas: of an operator, backups, and superusers. */
  otherConnections: 12,
  /** Microseconds of CPU of each replica per hint, at rates at which they come one by one: 43 to 55 on eight replicas. */
  hint: 50,
  /** Kilobytes of memory of each of 10,000 idle watchers, measured on 2026-11-24. */
  watcher: 18,
  workingDays: 21,
  /** Connections to a workspace, per user on a working day. */
  connectionsPerDay: 6,
  /** Rows that are deleted when they expire; those of a month are about as many as there ever are. */
  expiring: ["session or token", "refresh token"],
  /** Hints that an operation of each kind sends. */
  hints: { notification: 1, build: 10, task: 20, "SCIM operation": 1 } as Partial<Record<KindName, number>>,
  /** The largest that a part is made before another one takes over. */
  largest: {
    machine: { cpus: 2 },
    connections: 500,
    /** The share of its thread that each replica spends on hints. */
    hints: 0.1,
    /** Bytes. */
    database: 1e12,
    primary: { cpus: 64 },
    /** Bytes per second. */
    wal: 100e6,
    /** Sockets of a replica. */
    sockets: 50_000,
  },
};

/** The sum over the mix, in which each kind counts with its rate. */
const total = (of: (unit: Unit, name: KindName) => number, { units }: Pick<Figures, "units">): number =>
  kindNames.reduce((sum, name) => sum + mix[name].perSecond * of(units[name], name), 0);

/** The need of so many users in the busiest hour. */
export function need(figures: Figures, of: number) {
  const factor = of / users;
  const servers = (total(({ servers: cost }) => cost, figures) * figures.overhead * factor) / 1e6;
  const postgres = (total(({ postgres: cost }) => cost, figures) * figures.overhead * factor) / 1e6;
  const agentReports = mix["agent report"].perSecond * factor;
  const operations = total(() => 1, figures) * factor;
  const hints = total((_, name) => assumed.hints[name] ?? 0, figures) * factor;
  // Every replica receives every hint.
  const hintShare = (hints * assumed.hint) / 1e6;
  const replicas = Math.max(2, Math.ceil(servers / Math.max(0, assumed.replica.busy - hintShare)));
  const watchers = (dashboards / users) * of;
  return {
    requests: operations - agentReports,
    agentReports,
    servers,
    postgres,
    replicas,
    connections: replicas * (assumed.replica.pool + 1) + assumed.otherConnections,
    wal: total(({ wal }) => wal * 1_000, figures) * figures.walOverhead * factor,
    watchers,
    watcherBytes: watchers * assumed.watcher * 1_000,
    sockets: watchers + of + (daemons / users) * of,
    hints,
    hintShare,
  };
}

const days: Readonly<Record<KindName, { perSecond: number; perDay?: number }>> = mix;

/** Rows of each kind that so many users add in a month, and the bytes of those that stay. */
export function monthly({ units, stored }: Figures, of: number): ReadonlyMap<string, { rows: number; bytes: number }> {
  const rows = new Map<string, number>([["connection", assumed.connectionsPerDay]]);
  for (const name of kindNames)
    for (const [kind, count] of Object.entries(units[name].rows))
      // New users are not added by those who are there.
      if (kind !== "user") rows.set(kind, (rows.get(kind) ?? 0) + count * (days[name].perDay ?? 0));
  return new Map(
    [...rows].map(([kind, perDay]) => {
      const count = perDay * assumed.workingDays * of;
      return [kind, { rows: count, bytes: assumed.expiring.includes(kind) ? 0 : count * (stored[kind] ?? 0) }] as const;
    }),
  );
}
