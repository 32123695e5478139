import { total } from "../cost.js";
import { Deployment } from "../scale/deployment.js";
import { updateDocument } from "../scale/document.js";
import type { Kind } from "../scale/clients.js";
import { type Figures, type Unit, writeFigures } from "../scale/figures.js";
import { countRows, measure, rowSizes, type Spent } from "../scale/meters.js";
import type { KindName } from "../scale/model.js";
import { operations } from "../scale/operations.js";
import { measureReplicas } from "../scale/replicas.js";
import { circumstances, judgeLeast, type Row, showInterval } from "../report.js";
import type { Bench, Run } from "../run.js";

/** Milliseconds of each part of a full run and of a quick one. */
const pace = {
  full: { warmUp: 3_000, unit: 4_000, peak: 60_000, replicas: 2_000 },
  quick: { warmUp: 300, unit: 700, peak: 8_000, replicas: 1_000 },
};

/** Operations of a kind that are done at a time while its cost is measured. */
const concurrent = 8;

/** Two replicas do at least so much of one, on two cores that these, Postgres, and the clients share. */
const least = 0.9;

/** Measures the cost of one operation of a kind, which no other goes on beside. */
async function measureUnit(kind: Kind, site: Deployment, run: Run, { warmUp, unit }: typeof pace.full): Promise<Unit> {
  await site.clients.repeat(kind, concurrent, warmUp);
  const before = await countRows(site);
  const stop = await measure(site, run);
  const count = await site.clients.repeat(kind, concurrent, unit);
  const { server, postgres, walBytes } = await stop();
  const added = Object.entries(await countRows(site)).map(
    ([name, after]) => [name, Number(((after - before[name]!) / count).toFixed(1))] as const,
  );
  return {
    servers: Math.round(server / count),
    postgres: Math.round(postgres / count),
    wal: Number((walBytes / count / 1_000).toFixed(1)),
    rows: Object.fromEntries(added.filter(([, rows]) => rows > 0)),
  };
}

const units = (all: Readonly<Record<string, Unit>>): Row[] =>
  Object.entries(all).map(([what, { servers, postgres, wal }]) => ({
    bench: "unit cost",
    what,
    cost: `${servers + postgres} µs CPU (${servers} + ${postgres}), ${wal} kB WAL`,
  }));

/** The time within which 99 of 100 operations of the mix had their response. */
function p99(times: ReadonlyMap<string, number[]>): string {
  const sorted = [...times.values()].flat().toSorted((one, other) => one - other);
  return `p99 ${sorted[Math.floor(sorted.length * 0.99)]!.toFixed(0)} ms`;
}

/** How many times as much the mix cost as the sum of its operations alone. */
function overheads(all: Readonly<Record<string, Unit>>, times: ReadonlyMap<string, number[]>, spent: Spent) {
  const alone = (of: (unit: Unit) => number) =>
    [...times].reduce((sum, [name, { length }]) => sum + length * of(all[name]!), 0);
  return {
    overhead: Number((total(spent) / alone((unit) => unit.servers + unit.postgres)).toFixed(2)),
    walOverhead: Number((spent.walBytes / alone(({ wal }) => wal * 1_000)).toFixed(2)),
  };
}

async function measureAll(run: Run): Promise<Row[]> {
  await using site = await Deployment.open(run);
  const times = run.isQuick ? pace.quick : pace.full;
  const stored = await rowSizes(site);
  const kinds = operations(site);
  const costs = {} as Record<KindName, Unit>;
  for (const kind of kinds) {
    run.progress(`scale: ${kind.name}`);
    costs[kind.name] = await measureUnit(kind, site, run, times);
  }
  run.progress("scale: the mix of all kinds");
  const stop = await measure(site, run);
  const { times: mix, failures } = await site.clients.run(kinds, times.peak);
  const spent = await stop();
  if (run.isWhole && failures.length > 0) throw failures[0];
  run.progress("scale: one replica and two");
  const gains = await measureReplicas(site, run.isQuick ? 2 : 5, times.replicas);
  const figures: Figures = {
    machine: circumstances(run),
    units: costs,
    ...overheads(costs, mix, spent),
    replica: Math.round(Math.max(...site.servers.map(({ memory }) => memory)) / 1e6),
    stored,
    replicas: Object.fromEntries(Object.entries(gains).map(([load, { middle }]) => [load, Number(middle.toFixed(2))])),
  };
  if (run.isWhole) {
    writeFigures(figures);
    run.progress(`written to bench/results/scale.json and ${updateDocument()}`);
  }
  return [
    ...units(costs),
    {
      bench: "mix",
      what: "all kinds at their rates",
      cost: `${p99(mix)}, ${failures.length} failures`,
      ratio: `${figures.overhead} × the unit costs`,
    },
    { bench: "memory", what: "the larger replica", cost: `${figures.replica} MB RSS` },
    ...Object.entries(gains).map(([what, gain]) => ({
      bench: "two replicas by one",
      what,
      ratio: showInterval(gain),
      ...judgeLeast(gain.middle, least),
    })),
  ];
}

/** The costs of a deployment of 2,000 users on two replicas and one Postgres: docs/scaling.md has the figures. */
export const scaleBench: Bench = { name: "scale", measure: measureAll };
