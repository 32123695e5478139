import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { audience, commitToFrame, pace } from "../commit-to-frame.js";
import { type CpuMeter, ProcessCpu } from "../cpu.js";
import { hintOf, type Received } from "../hints/hints.js";
import { ServerProcess } from "../process.js";
import type { Row } from "../report.js";
import type { Bench, Run } from "../run.js";
import { updateDocument } from "../scale/document.js";
import type { Events } from "../../src/domain/kernel/events.js";
import { NatsEvents } from "../../src/infrastructure/events/nats-events.js";
import { PostgresEvents } from "../../src/infrastructure/events/postgres-events.js";
import { Unpacked } from "../../tools/debian.js";
import { NatsServer, natsPackages } from "../../tools/nats.js";

/** Hints per second that are tried in turn, until delivery lags. */
const rates = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_024_000];

/** The share of a rate that the publisher must reach: it is too slow otherwise, whatever the carrier does. */
const leastShare = 0.8;

/** Replicas that receive them. */
const receivers = 2;

/** Delivery lags if 1 of 100 hints takes longer than that (milliseconds), or if one is missing. */
const lag = 100;

/** Milliseconds for replicas to connect, and for the last hints to arrive. */
const timeout = 10_000;

/** Milliseconds between two publications: requests of a server commit at moments of their own. */
const beat = 1;

/** How hints get from one replica to others. */
interface Carrier {
  name: string;
  /** Settings of servers, and the environment of receivers. */
  settings: Readonly<Record<string, string>>;
  env: Readonly<Record<string, string>>;
  open: () => Events;
  cpu: CpuMeter;
}

const log = pino({ level: "error" });

const postgresCarrier = ({ databaseUrl, postgres }: Run): Carrier => ({
  name: "Postgres",
  settings: {},
  env: { BENCH_DATABASE_URL: databaseUrl },
  open: () => new PostgresEvents({ connectionString: databaseUrl, log }),
  cpu: postgres,
});

const natsCarrier = ({ url, pid }: NatsServer): Carrier => ({
  name: "NATS",
  settings: { STEWARD_EVENTS_URL: url },
  env: { BENCH_EVENTS_URL: url },
  open: () => new NatsEvents({ url, log }),
  cpu: new ProcessCpu(pid),
});

const milliseconds = (value: number) => `${value.toFixed(1)} ms`;

async function frames({ name, settings }: Carrier, run: Run): Promise<Row[]> {
  run.progress(`events: commit to frame over ${name}`);
  const sorted = await commitToFrame(run, settings);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  return [
    {
      bench: "commit to frame on another replica",
      what: `${name}, ${sorted.length} notifications`,
      perSecond: pace,
      cost: `p50 ${milliseconds(at(0.5))}, p99 ${milliseconds(at(0.99))}`,
    },
  ];
}

/** How hints arrived that were published at a rate. */
interface Delivery {
  perSecond: number;
  sent: number;
  /** Of the slowest receiver, and all of their gaps. */
  received: Received;
  /** Microseconds of CPU per hint: of this process, which publishes, of each receiver, and of the carrier. */
  publisher: number;
  receiver: number;
  carrier: number;
}

const isLate = ({ sent, received }: Delivery) => received.count < sent || received.p99 > lag || received.gaps > 0;

const ask = async ({ url }: ServerProcess): Promise<Received> => (await fetch(url)).json() as Promise<Received>;

const worst = (all: readonly Received[]): Received => ({
  count: Math.min(...all.map(({ count }) => count)),
  p50: Math.max(...all.map(({ p50 }) => p50)),
  p99: Math.max(...all.map(({ p99 }) => p99)),
  slowest: Math.max(...all.map(({ slowest }) => slowest)),
  gaps: all.reduce((sum, { gaps }) => sum + gaps, 0),
});

let published = 0;

/** Publishes at the rate, one hint after the other. Returns their number. */
async function publish(events: Events, perSecond: number, duration: number): Promise<number> {
  const begun = performance.now();
  let sent = 0;
  for (let elapsed = 0; elapsed < duration; elapsed = performance.now() - begun) {
    for (; sent < (elapsed * perSecond) / 1_000; sent++) events.publish(hintOf(published++));
    await sleep(beat);
  }
  return sent;
}

async function deliver(
  events: Events,
  servers: readonly ServerProcess[],
  { cpu }: Carrier,
  perSecond: number,
  duration: number,
): Promise<Delivery> {
  await Promise.all(servers.map(ask));
  const meters = [...servers.map((server) => server.cpu), cpu];
  const before = meters.map((meter) => meter.read());
  const own = process.cpuUsage();
  const begun = performance.now();
  const sent = await publish(events, perSecond, duration);
  const seconds = (performance.now() - begun) / 1_000;
  const collected = await collect(servers, sent);
  const spent = meters.map((meter, nr) => (meter.read() - before[nr]!) / 1_000 / sent);
  const { user, system } = process.cpuUsage(own);
  const receiver = spent.slice(0, -1).reduce((sum, each) => sum + each, 0) / servers.length;
  return {
    perSecond: sent / seconds,
    sent,
    received: collected,
    publisher: (user + system) / sent,
    receiver,
    carrier: spent.at(-1)!,
  };
}

/**
 * Asks the receivers until they have all hints, at most as long as the last ones may lag. Throws if one lacks some and was
 * not told so: the bus may drop hints only if it announces that.
 */
async function collect(servers: readonly ServerProcess[], sent: number): Promise<Received> {
  let all = await Promise.all(servers.map(ask));
  const deadline = performance.now() + timeout;
  while (worst(all).count < sent && performance.now() < deadline) {
    await sleep(lag);
    const more = await Promise.all(servers.map(ask));
    // The times of the later ones count: they are the slower ones.
    all = all.map((received, nr) => {
      const next = more[nr]!;
      if (next.count === 0) return { ...received, gaps: received.gaps + next.gaps };
      return { ...worst([received, next]), count: received.count + next.count };
    });
  }
  const silent = all.find(({ count, gaps }) => count < sent && gaps === 0);
  if (silent) throw new Error(`A receiver misses ${sent - silent.count} hints without having been told of a gap.`);
  return worst(all);
}

async function hints(carrier: Carrier, run: Run): Promise<Row[]> {
  const bench = `hints to ${receivers} other replicas`;
  await using stack = new AsyncDisposableStack();
  const servers: ServerProcess[] = [];
  for (let nr = 0; nr < receivers; nr++) {
    const started = await ServerProcess.start({ script: "hints/receiver.ts", env: carrier.env });
    servers.push(stack.use(started));
  }
  const events = stack.adopt(carrier.open(), (opened) => opened.close());
  await events.start("bench");
  await connected(events, servers);
  // Code runs at full speed only after some ten thousand hints.
  await deliver(events, servers, carrier, rates[2]!, run.measure);

  const deliveries: Delivery[] = [];
  for (const rate of rates) {
    let delivery = await deliver(events, servers, carrier, rate, run.measure);
    // Something else on the machine may have delayed it: it lags if it does so again.
    if (isLate(delivery)) delivery = await deliver(events, servers, carrier, rate, run.measure);
    deliveries.push(delivery);
    run.progress(`events: ${rate} hints a second over ${carrier.name}: p99 ${milliseconds(delivery.received.p99)}`);
    if (isLate(delivery) || delivery.perSecond < rate * leastShare) break;
  }
  const last = deliveries.at(-1)!;
  const end = isLate(last)
    ? `at ${rates[deliveries.length - 1]} a second`
    : "never: no more can be published in a process";
  return [
    ...deliveries.map((delivery) => ({
      bench,
      what: `${carrier.name}, ${rates[deliveries.indexOf(delivery)]} a second`,
      perSecond: delivery.perSecond,
      cost: show(delivery),
    })),
    { bench, what: `${carrier.name}, delivery lags`, cost: end },
  ];
}

const show = ({ sent, received, publisher, receiver, carrier }: Delivery): string => {
  const missing = sent - received.count;
  const faults = [missing > 0 && `${missing} missing`, received.gaps > 0 && `${received.gaps} gaps`].filter(Boolean);
  const cpu = [publisher, receiver, carrier].map((each) => each.toFixed(1)).join(" + ");
  return [`p50 ${milliseconds(received.p50)}`, `p99 ${milliseconds(received.p99)}`, ...faults, `${cpu} µs CPU`].join(
    ", ",
  );
};

/** Resolves when a hint reaches all receivers. */
async function connected(events: Events, servers: readonly ServerProcess[]): Promise<void> {
  const reached = new Set<ServerProcess>();
  const deadline = performance.now() + timeout;
  while (reached.size < servers.length) {
    if (performance.now() > deadline) throw new Error("The replicas do not hear each other.");
    events.publish(hintOf(published++));
    await sleep(50);
    for (const server of servers) if ((await ask(server)).count > 0) reached.add(server);
  }
}

/** Starts NATS from its package. Returns the reason if that cannot be had, as on machines without packages of Debian. */
async function startNats(stack: AsyncDisposableStack): Promise<NatsServer | string> {
  let program: Unpacked;
  try {
    program = stack.adopt(await Unpacked.from(natsPackages), (unpacked) => unpacked.remove());
  } catch (error) {
    return (error as Error).message.trim().split("\n").at(-1)!;
  }
  return stack.adopt(await NatsServer.start(program), (server) => server.kill());
}

/** How fast replicas hear of changes over each carrier of hints, and how many hints it carries. */
export const eventsBench: Bench = {
  name: "events",
  method: `Commit to frame: notifications are committed in one process, ${pace} a second, to ${audience.size} users in turn, each with one WebSocket at
another one; the time is from the commit to the frame. Hints: one process publishes hints, each of another object, one by
one at a rate, with the bus that servers use; ${receivers} others receive them. The time is from the publication to the call of the
subscriber. Delivery lags if, in two attempts, 1 of 100 hints takes longer than ${lag} ms, one is missing, or a receiver is
told that some may be. Missing ones were shed, since a publisher had too many to send, or lost by the carrier, and announced:
each receiver that lacks some was told of a gap, upon which servers read the database again; otherwise, the bench fails. CPU is
per hint, of the publisher, of each receiver, and of the carrier: all processes of the Postgres cluster, or nats-server (of Debian). All of them share the machine over loopback.`,
  async measure(run) {
    await using stack = new AsyncDisposableStack();
    run.progress("events: NATS from its package");
    const nats = await startNats(stack);
    const carriers = [postgresCarrier(run), ...(typeof nats === "string" ? [] : [natsCarrier(nats)])];
    const rows: Row[] = [];
    for (const carrier of carriers) rows.push(...(await frames(carrier, run)));
    for (const carrier of carriers) rows.push(...(await hints(carrier, run)));
    if (typeof nats === "string") {
      run.progress(`events: NATS is skipped, since its package cannot be had: ${nats}`);
      rows.push({ bench: "events", what: "NATS", cost: `skipped, since its package cannot be had: ${nats}` });
    }
    return rows;
  },
  onWritten: updateDocument,
};
