// Writes the figures in docs/scaling.md from the results of the bench `scale`.
import { readFileSync, writeFileSync } from "node:fs";
import { markdown as table } from "../report.js";
import { assumed, type Figures, monthly, need, readFigures } from "./figures.js";
import { type KindName, kindNames, mix } from "./model.js";

const path = new URL("../../docs/scaling.md", import.meta.url);

const sizes = [2_000, 10_000, 100_000, 10_000_000];

const count = (value: number): string => {
  const digits = value >= 1_000 ? 10 ** (Math.floor(Math.log10(value)) - 2) : 1;
  const rounded = Math.round(value / digits) * digits;
  return value < 10 ? String(Math.round(value * 10) / 10) : rounded.toLocaleString("en-US");
};

const scales = [
  { least: 1e12, unit: "TB" },
  { least: 1e9, unit: "GB" },
  { least: 1e6, unit: "MB" },
  { least: 0, unit: "kB" },
];

function bytes(value: number): string {
  const { least, unit } = scales.find((each) => value >= each.least)!;
  return `${count(value / (least || 1_000))} ${unit}`;
}

const milliseconds = (value: number) => (value / 1_000).toFixed(value < 10_000 ? 2 : 1);

function unitTable({ units }: Figures): string {
  const sum = kindNames.reduce((all, name) => {
    const { servers, postgres } = units[name];
    return all + mix[name].perSecond * (servers + postgres);
  }, 0);
  const rows = kindNames.map((name) => {
    const { servers, postgres, wal, rows: added } = units[name];
    const share = (mix[name].perSecond * (servers + postgres)) / sum;
    return [
      name,
      String(mix[name].perSecond),
      milliseconds(servers),
      milliseconds(postgres),
      `${(share * 100).toFixed(0)} %`,
      `${Math.max(0, wal).toFixed(1)} kB`,
      Object.entries(added)
        .map(([kind, each]) => `${each} × ${kind}`)
        .join(", ") || "none",
    ];
  });
  const titles = ["Operation", "Per second (2,000 users)", "Servers, ms CPU", "Postgres, ms CPU", "Share of the CPU"];
  return table([...titles, "WAL", "Rows"], rows);
}

const beyond = "beyond one deployment";

const provided = (busy: number) => `${count(busy)} busy, ${count(busy / assumed.busy)} to provide`;

function deploymentTable(figures: Figures): string {
  const needs = sizes.map((size) => need(figures, size));
  const row = (title: string, cell: (of: ReturnType<typeof need>) => string) => [title, ...needs.map(cell)];
  return table(
    ["Users at work", ...sizes.map((size) => size.toLocaleString("en-US"))],
    [
      row("Requests per second", ({ requests }) => count(requests)),
      row("Agent reports per second", ({ agentReports }) => count(agentReports)),
      row("vCPU of the servers that are busy, without hints", ({ servers }) => count(servers)),
      row("Replicas of one core each", ({ replicas }) => (replicas < Infinity ? count(replicas) : beyond)),
      row("Connections to Postgres", ({ connections }) => (connections < Infinity ? count(connections) : beyond)),
      row("vCPU of Postgres", ({ postgres }) => provided(postgres)),
      row("WAL per second", ({ wal }) => bytes(wal)),
      row(
        "Watchers, and their memory in all replicas",
        (each) => `${count(each.watchers)}, ${bytes(each.watcherBytes)}`,
      ),
      row("Sockets of watchers, agents, and daemons", ({ sockets }) => count(sockets)),
      row("Hints per second", ({ hints }) => count(hints)),
      row("Share of its thread that each replica spends on them", ({ hintShare }) =>
        hintShare < 1 ? `${(hintShare * 100).toFixed(1)} %` : beyond,
      ),
    ],
  );
}

function monthTable(figures: Figures): string {
  const months = sizes.map((size) => monthly(figures, size));
  const kinds = [...months[0]!.keys()].toSorted();
  const rows = kinds.map((kind) => [
    kind,
    `${count(figures.stored[kind] ?? 0)} bytes`,
    ...months.map((month) => count(month.get(kind)!.rows)),
  ]);
  const all = months.map((month) => bytes([...month.values()].reduce((sum, each) => sum + each.bytes, 0)));
  const titles = sizes.map((size) => size.toLocaleString("en-US"));
  return table(["Rows per month", "Each, with indexes", ...titles], [...rows, ["all that stay, in bytes", "", ...all]]);
}

/** The users at work whose need is as large as the limit, which need not grow in proportion. */
function reached(limit: number, needOf: (size: number) => number): number {
  let least = 1;
  let most = 1e9;
  while (most / least > 1.0001) {
    const middle = Math.sqrt(least * most);
    if (needOf(middle) < limit) least = middle;
    else most = middle;
  }
  return least;
}

/** The parts by the number of users at work that outgrow them. */
function limitTable(figures: Figures): string {
  const { largest, busy } = assumed;
  const when = (limit: number, of: (needed: ReturnType<typeof need>) => number) =>
    reached(limit, (size) => of(need(figures, size)));
  const year = (size: number) => 12 * [...monthly(figures, size).values()].reduce((sum, each) => sum + each.bytes, 0);
  const limits = [
    {
      part: "one machine",
      limit: `${largest.machine.cpus} vCPU for everything, ${busy * 100} % busy`,
      at: when(largest.machine.cpus * busy, ({ servers, postgres }) => servers + postgres),
      next: "Postgres on a machine of its own, then replicas",
    },
    {
      part: "sockets of two replicas",
      limit: `${largest.sockets.toLocaleString("en-US")} of each`,
      at: when(2 * largest.sockets, ({ sockets }) => sockets),
      next: "more replicas: they share nothing but the database and the hints",
    },
    {
      part: "connections of Postgres",
      limit: `${largest.connections}, ${assumed.replica.pool + 1} of each replica and ${assumed.otherConnections} others`,
      at: when(largest.connections, ({ connections }) => connections),
      next: "PgBouncer, with `STEWARD_DATABASE_DIRECT_URL`",
    },
    {
      part: "tables without retention",
      limit: `${bytes(largest.database)} after a year`,
      at: reached(largest.database, year),
      next: "monthly partitions, dropped by `STEWARD_AUDIT_RETENTION`, `STEWARD_CONNECTION_LOG_RETENTION`, and those of inboxes",
    },
    {
      part: "hints, which all replicas receive",
      limit: `${largest.hints * 100} % of the thread of each replica, ${assumed.hint} µs per hint`,
      at: when(largest.hints, ({ hintShare }) => hintShare),
      next: "a deployment for each part of the company; NATS relieves Postgres of them, not the replicas",
    },
    {
      part: "CPU of the primary",
      limit: `${largest.primary.cpus} vCPU, ${busy * 100} % busy`,
      at: when(largest.primary.cpus * busy, ({ postgres }) => postgres),
      next: "reads from standbys, with `STEWARD_DATABASE_READ_URL`; then a deployment for each part of the company",
    },
    {
      part: "WAL of the primary",
      limit: `${bytes(largest.wal)} per second`,
      at: when(largest.wal, ({ wal }) => wal),
      next: "a deployment for each part of the company",
    },
  ];
  const rows = limits
    .toSorted((one, other) => one.at - other.at)
    .map(({ part, limit, at, next }) => [part, limit, count(at), next]);
  return table(["Part", "Taken to be outgrown at", "Users at work", "Then takes over"], rows);
}

/** Operations per second that cost a vCPU of the servers. */
function perCpu({ units }: Figures): string {
  const rate = (name: KindName) => count(1e6 / units[name].servers);
  return `With a vCPU of replicas that is busy, the database apart, Steward does ${rate("login")} logins, ${rate("client credentials")} client credentials, or ${rate("token refresh")} token refreshes per second.`;
}

const replicas = (figures: Figures): string =>
  `Measured: ${Object.entries(figures.replicas)
    .map(([load, gain]) => `${load}, ${gain.toFixed(2)} × of one replica`)
    .join("; ")}.`;

/** The document with its tables as the results have them. Throws if it lacks the place of one. */
export function withFigures(document: string, figures: Figures): string {
  const tables: Record<string, string> = {
    measured: `Measured: ${figures.machine}. In the mix, everything costs ${figures.overhead} × as much CPU as alone, and ${figures.walOverhead.toFixed(1)} × as much WAL. A replica has ${count(figures.replica)} MB of memory.`,
    units: unitTable(figures),
    peers: perCpu(figures),
    deployments: deploymentTable(figures),
    months: monthTable(figures),
    limits: limitTable(figures),
    replicas: replicas(figures),
  };
  return Object.entries(tables).reduce((text, [name, content]) => {
    const begin = `<!-- figures: ${name} -->`;
    const end = `<!-- end: ${name} -->`;
    const [before, rest] = text.split(begin);
    const [, after] = rest?.split(end) ?? [];
    if (after === undefined) throw new Error(`The document has no place for the table "${name}".`);
    return `${before}${begin}\n\n${content}\n\n${end}${after}`;
  }, document);
}

/** Writes the tables of docs/scaling.md. Returns its path. */
export function updateDocument(): string {
  writeFileSync(path, withFigures(readFileSync(path, "utf8"), readFigures()));
  return path.pathname;
}

if (import.meta.main) console.log(updateDocument());
