import { setTimeout as sleep } from "node:timers/promises";
import { Deployment } from "../scale/deployment.js";
import { updateDocument } from "../scale/document.js";
import { linesPerBuild } from "../scale/fleet.js";
import { busy, countRows, measure, rowSizes, type Spent } from "../scale/meters.js";
import { isRequest, type KindName, kindNames, mix, p99Limit, published } from "../scale/model.js";
import { inTime, type Kind, type Outcome, type Outcomes } from "../scale/open-loop.js";
import { operations } from "../scale/operations.js";
import { Promises } from "../scale/promises.js";
import { measureNeighbors } from "../scale/neighbors.js";
import { measureReplicas } from "../scale/replicas.js";
import { judge, type Row } from "../report.js";
import type { Bench, Run } from "../run.js";

/** Milliseconds of each part of a full run and of a quick one. */
const pace = {
  full: { warmUp: 3_000, unit: 4_000, idle: 5_000, peak: 60_000, stage: 15_000, settling: 2_000, replicas: 2_000 },
  quick: { warmUp: 300, unit: 700, idle: 1_000, peak: 8_000, stage: 5_000, settling: 500, replicas: 1_000 },
};

/** Milliseconds after which the bench fails, and after which it tries no further rate, both since its start. */
const limits = { all: 590_000, rates: 400_000 };

/** Multiples of the rates that are tried in turn, until one does not hold. */
const factors = { full: [2, 3, 4, 6, 8, 12], quick: [2] };

/** Operations of a kind that are done at a time while its cost is measured. */
const concurrent = 8;

/** Kinds with fewer operations than that are judged together: the p99 of a few is the slowest of them. */
const enough = 100;

/** The cost of one operation of a kind: microseconds of CPU, bytes of the log of Postgres, and rows that it added. */
interface Unit {
  servers: number;
  postgres: number;
  walBytes: number;
  perSecond: number;
  rows: ReadonlyMap<string, number>;
}

type Units = ReadonlyMap<KindName, Unit>;

/** The mix at one rate. */
interface Stage {
  factor: number;
  outcomes: Outcomes;
  spent: Spent;
}

async function measureUnit(
  kind: Kind,
  deployment: Deployment,
  run: Run,
  { warmUp, unit }: typeof pace.full,
): Promise<Unit> {
  const { clients } = deployment;
  await clients.repeat(kind, concurrent, warmUp);
  const before = await countRows(deployment);
  const stop = await measure(deployment, run);
  const outcome = await clients.repeat(kind, concurrent, unit);
  const { servers, postgres, walBytes, seconds } = await stop();
  requireNoFault(kind.name, outcome);
  const count = outcome.times.length;
  const rows = [...(await countRows(deployment))].map(
    ([name, after]) => [name, (after - before.get(name)!) / count] as const,
  );
  return {
    servers: servers / count,
    postgres: postgres / count,
    walBytes: walBytes / count,
    perSecond: count / seconds,
    rows: new Map(rows.filter(([, added]) => added >= 0.05)),
  };
}

function requireNoFault(name: string, { faults, times }: Outcome): void {
  if (faults.size > 0) throw new Error(`Operations of the kind ${name} failed: ${showFaults(faults)}`);
  if (times.length === 0) throw new Error(`No operation of the kind ${name} has ended.`);
}

const showFaults = (faults: ReadonlyMap<string, number>): string =>
  [...faults].map(([message, count]) => `${count} × ${message}`).join("; ");

async function play(factor: number, kinds: readonly Kind[], deployment: Deployment, run: Run, milliseconds: number) {
  const stop = await measure(deployment, run);
  const outcomes = await deployment.clients.run(kinds, factor, milliseconds);
  const stage: Stage = { factor, outcomes, spent: await stop() };
  const { worst, faults } = judged(stage);
  run.progress(
    `scale: ${factor} × the peak: ${busy(stage.spent).toFixed(2)} vCPU, p99 ${worst.toFixed(0)} ms, ${faults} errors`,
  );
  for (const [name, outcome] of outcomes)
    if (outcome.faults.size > 0) run.progress(`scale: ${name}: ${showFaults(outcome.faults).slice(0, 500)}`);
  return stage;
}

/** The highest p99 of a kind, the rarer kinds being one together, and the number of failures. */
function judged({ outcomes }: Stage): { worst: number; faults: number } {
  const kinds = [...outcomes.values()];
  const rare = kinds.filter(({ times }) => times.length < enough).flatMap(({ times }) => times);
  const groups = [...kinds.filter(({ times }) => times.length >= enough).map(({ times }) => times), rare];
  const worst = Math.max(...groups.filter((times) => times.length > 0).map((times) => at(times, 0.99)));
  return { worst, faults: kinds.reduce((sum, { faultCount }) => sum + faultCount, 0) };
}

const holds = (stage: Stage): boolean => {
  const { worst, faults } = judged(stage);
  return faults === 0 && worst <= p99Limit;
};

function at(times: readonly number[], share: number): number {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

const milliseconds = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

const percentiles = (times: readonly number[]) =>
  times.length === 0 ? "no times" : `p50 ${milliseconds(at(times, 0.5))}, p99 ${milliseconds(at(times, 0.99))}`;

/** Raises the rates until a stage does not hold, and then tries the middle. Returns the highest one that held, if any. */
async function highest(
  peak: Stage,
  kinds: readonly Kind[],
  deployment: Deployment,
  run: Run,
  { isQuick, since }: { isQuick: boolean; since: number },
) {
  const { stage, settling } = isQuick ? pace.quick : pace.full;
  const isTime = () => performance.now() - since < limits.rates;
  if (!holds(peak)) return undefined;
  let best = peak;
  let tooMuch: Stage | undefined;
  const attempt = async (factor: number) => {
    await sleep(settling);
    const tried = await play(factor, kinds, deployment, run, stage);
    if (holds(tried)) best = tried;
    else tooMuch = tried;
  };
  for (const factor of isQuick ? factors.quick : factors.full) {
    await attempt(factor);
    if (tooMuch || !isTime()) break;
  }
  if (tooMuch && !isQuick && isTime()) await attempt((best.factor + tooMuch.factor) / 2);
  return best;
}

const microseconds = (value: number) => value.toFixed(value < 10 ? 1 : 0);

const showUnit = ({ servers, postgres, walBytes }: Unit) =>
  `${microseconds(servers + postgres)} µs CPU (${microseconds(servers)} + ${microseconds(postgres)}), ${(walBytes / 1_000).toFixed(1)} kB WAL`;

const unitRows = (units: Units): Row[] =>
  [...units].flatMap(([name, unit]) => {
    const rows = [...unit.rows].map(([row, added]) => `${added.toFixed(1)} × ${row}`);
    return [
      { bench: "unit cost", what: name, perSecond: unit.perSecond, cost: showUnit(unit) },
      ...(rows.length > 0 ? [{ bench: "unit cost", what: `${name}, rows added`, cost: rows.join(", ") }] : []),
    ];
  });

function stageRows(title: string, { factor, outcomes, spent }: Stage, units: Units): Row[] {
  const bench = `${title} (${factor} × the model)`;
  const rows: Row[] = [...outcomes].flatMap(([name, { times, ends, faultCount }]) => [
    {
      bench,
      what: `${name}, ${times.length} of them`,
      perSecond: times.length / spent.seconds,
      cost: `${percentiles(times)}, ${faultCount} errors`,
    },
    ...(ends.length > 0 ? [{ bench, what: `${name}, to its end`, cost: percentiles(ends) }] : []),
  ]);
  const { worst, faults } = judged({ factor, outcomes, spent });
  const expected = [...outcomes].reduce((sum, [name, { times }]) => {
    const { servers, postgres } = units.get(name as KindName)!;
    return sum + times.length * (servers + postgres);
  }, 0);
  const parts = [spent.servers, spent.postgres].map((each) => (each / spent.seconds / 1e6).toFixed(2));
  return [
    ...rows,
    {
      bench,
      what: "all",
      perSecond: allOf(outcomes, () => true) / spent.seconds,
      cost: `${busy(spent).toFixed(2)} vCPU (${parts.join(" + ")}), ${(spent.walBytes / spent.seconds / 1_000).toFixed(0)} kB/s WAL`,
      ratio: `${(busy(spent) / (expected / spent.seconds / 1e6)).toFixed(2)} × the sum of the unit costs`,
    },
    {
      bench,
      what: "slowest p99",
      cost: `${milliseconds(worst)}, ${faults} errors`,
      ...judge(faults > 0 ? Infinity : worst, { limit: p99Limit, aim: p99Limit / 5 }, "ms"),
    },
    {
      bench,
      what: "the clients, on the same machine",
      cost: `${(spent.clients / spent.seconds / 1e6).toFixed(2)} vCPU`,
    },
  ];
}

const allOf = (outcomes: Outcomes, isCounted: (name: KindName) => boolean): number =>
  [...outcomes].reduce((sum, [name, { times }]) => sum + (isCounted(name as KindName) ? times.length : 0), 0);

/** Published figures, and those of Steward beside them: what it serves per second and vCPU that it uses. */
function comparison(units: Units, { outcomes, spent }: Stage): Row[] {
  const bench = "per vCPU";
  const { coder, ...providers } = published;
  const row = (what: string, perSecondAndCpu: number, cost: string): Row => ({
    bench,
    what,
    cost,
    ratio: `${perSecondAndCpu.toFixed(0)} a second and vCPU`,
  });
  const requests = allOf(outcomes, isRequest) / spent.seconds;
  return [
    row(`${coder.what}: published, ${coder.who}`, coder.perSecondAndCpu, coder.from),
    row(
      `${coder.what}: Steward, beside ${((allOf(outcomes, () => true) - allOf(outcomes, isRequest)) / spent.seconds).toFixed(0)} agent reports a second`,
      requests / busy(spent),
      `${requests.toFixed(0)}/s on ${busy(spent).toFixed(2)} vCPU that were busy, the database included`,
    ),
    ...Object.entries(providers).flatMap(([name, { who, what, perSecondAndCpu, from }]) => {
      const { servers, postgres } = units.get(name as KindName)!;
      return [
        row(`${what}: published, ${who}`, perSecondAndCpu, from),
        row(`${what}: Steward`, 1e6 / servers, "the database apart"),
        row(`${what}: Steward`, 1e6 / (servers + postgres), "the database included"),
      ];
    }),
  ];
}

async function measureAll(run: Run): Promise<Row[]> {
  const since = performance.now();
  await using deployment = await Deployment.open(run);
  const rest = limits.all - (performance.now() - since);
  return await inTime(rest, measureOn(deployment, run, since), () => "The bench takes longer than ten minutes.");
}

async function measureOn(deployment: Deployment, run: Run, since: number): Promise<Row[]> {
  const isQuick = run.rounds <= 2;
  const times = isQuick ? pace.quick : pace.full;
  const sizes = await rowSizes(deployment);
  const promises = new Promises();
  const kinds = operations(deployment, promises);

  const units = new Map<KindName, Unit>();
  for (const name of kindNames) {
    units.set(name, await measureUnit(kinds.get(name)!, deployment, run, times));
    run.progress(`scale: ${name}: ${showUnit(units.get(name)!)}`);
  }
  run.progress("scale: idle");
  await sleep(times.settling);
  const stop = await measure(deployment, run);
  await sleep(times.idle);
  const idle = await stop();

  const together = [...kinds.values()];
  const peak = await play(1, together, deployment, run, times.peak);
  const best = await highest(peak, together, deployment, run, { isQuick, since });
  const replicas = await measureReplicas(deployment, run, isQuick ? 1 : 5, times.replicas);
  const neighbors = await measureNeighbors(deployment, run, isQuick ? 1 : 5, times.replicas);
  run.progress("scale: is everything there that was acknowledged?");
  await deployment.clients.settled();
  const found = await promises.check(deployment);
  const memory = await Promise.all(deployment.servers.map((server) => server.usage()));
  const none: Row = { bench: "highest rate", what: "no tried multiple of the model", verdict: "missed" };

  return [
    ...kindNames.map((name) => ({
      bench: "model",
      what: name,
      perSecond: mix[name].perSecond,
      cost: mix[name].because,
    })),
    ...unitRows(units),
    { bench: "unit cost", what: "idle, with all watchers and daemons", cost: `${busy(idle).toFixed(3)} vCPU` },
    ...[...sizes].map(([name, bytes]) => ({
      bench: "stored",
      what: `${name}, with its indexes`,
      cost: `${bytes.toFixed(0)} bytes`,
    })),
    ...stageRows("peak", peak, units),
    ...(best ? stageRows("highest rate", best, units) : [none]),
    ...replicas,
    ...neighbors,
    ...memory.map(({ rss }, nr) => ({
      bench: "memory",
      what: `replica ${nr + 1}`,
      cost: `${(rss / 1e6).toFixed(0)} MB RSS`,
    })),
    ...[...found].map(([kind, count]) => ({
      bench: "acknowledged and found",
      what: kind,
      cost: `${count} of ${count}`,
    })),
    ...comparison(units, best ?? peak),
  ];
}

/** A deployment of 2,000 users on two replicas and one Postgres, at its peak and at the highest rate that holds. */
export const scaleBench: Bench = {
  name: "scale",
  method: `Two replicas, one Postgres, and all clients share the machine over loopback. The database is that of 2,000 users after some
months; 1,000 of them watch their inbox, and 50 provisioner daemons speak the daemon protocol without building anything.
Unit costs are CPU per operation of one kind alone, ${concurrent} at a time: of both servers and of all processes of the Postgres cluster,
from the nanoseconds of schedstat, with everything that follows from it: a build has its daemon's messages and ${linesPerBuild} lines of
log, a task its build and five reports of its agent, a notification its frame. WAL is that of the whole operation. The peak
is the model, in which each kind is sent at its rate at random moments, whether or not earlier ones have ended (an open
loop); times are from the moment at which a request was due. The highest rate is the largest tried multiple of all rates
of the model at which no request fails and 99 of 100 of each kind take at most ${p99Limit} ms; kinds with fewer than ${enough} operations
are judged together. Creations of users and revocations of sessions are then sent through one replica and through both in turn,
five times: on a machine of two cores, which all of them share, two must do 0.9 of what one does, and more would do more on more
cores. In the end, everything that was acknowledged is looked up through both replicas in turn: the bench
fails if anything is missing. Published figures are those of their publishers: vCPUs that they recommend to provide,
on machines of theirs, whereas Steward's are vCPUs that were busy.`,
  measure: measureAll,
  onWritten: updateDocument,
};
