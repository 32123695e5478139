import { setTimeout as sleep } from "node:timers/promises";
import { ids, ownerToken } from "../data.js";
import { Flood } from "../flood.js";
import { LoadGenerator } from "../load.js";
import { judge, judgeWithin, type Row, showRatios } from "../report.js";
import { get } from "../requests.js";
import type { Bench, Run } from "../run.js";
import { median } from "../statistics.js";
import { startSteward } from "../steward.js";
import { bareLoop } from "./login.js";

/** Sign-ins sent, as a multiple of what the machine can hash. */
const excess = 10;

/** The flood comes in waves of this many milliseconds in a full run, 30 seconds in all, with quiet intervals. */
const wave = 10_000;
const waves = 3;

/** Milliseconds for the queue to fill, or for pending requests to end. */
const settling = 500;

/** Enough connections for all pending requests at that rate. */
const connections = 256;

/** The minimum share of their throughput that reads keep, and the maximum megabytes that the flood may add. */
const kept = 0.45;
const memory = { limit: 150, aim: 80 };

const reads = {
  connections: 16,
  request: () => get(`/api/v2/groups/${ids.smallGroup}?exclude_members=true`, ownerToken()),
};

/** The `nth` of a flood from everywhere: no address and no account comes often enough for a limit to see it. */
function guess(nth: number): string {
  const address = `10.${(nth >> 16) & 255}.${(nth >> 8) & 255}.${nth & 255}`;
  const body = JSON.stringify({ email: `flood-${nth}@example.com`, password: "a wrong password" });
  const lines = [
    "POST /api/v2/users/login HTTP/1.1",
    "Host: 127.0.0.1",
    `X-Forwarded-For: ${address}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
  ];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

/** Reads per second without and with the flood. */
interface Wave {
  alone: number;
  meanwhile: number;
}

async function measure(run: Run): Promise<Row[]> {
  const bench = "login flood";
  const perSecond = excess * (await bareLoop(run));
  const long = run.rounds > 2 ? wave : run.measure;
  await using server = await startSteward(run, { STEWARD_TRUSTED_PROXIES: "127.0.0.1" });
  await readsFor(server.url, run.warmUp);
  const responses = new Map<number, number>();
  const flooded = async (): Promise<number> => {
    using flood = await Flood.open(server.url, connections, guess);
    const flooding = flood.run(perSecond, long + 2 * settling);
    await sleep(settling);
    const meanwhile = await readsFor(server.url, long);
    await flooding;
    for (const [status, count] of flood.responses) responses.set(status, (responses.get(status) ?? 0) + count);
    return meanwhile;
  };
  await flooded();
  const before = await server.usageCollected();
  const all: Wave[] = [];
  for (let nr = 1; nr <= waves; nr++) {
    run.progress(`${bench}: wave ${nr} of ${waves}, ${perSecond.toFixed(0)} logins a second`);
    all.push({ alone: await readsFor(server.url, long / 2), meanwhile: await flooded() });
  }
  const after = await server.usageCollected();

  const ratios = all.map(({ alone, meanwhile }) => meanwhile / alone);
  const grown = (after.rss - before.rss) / 1_000_000;
  const statuses = [...responses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`);
  return [
    { bench, what: "reads alone", perSecond: median(all.map(({ alone }) => alone)) },
    { bench, what: "reads meanwhile", perSecond: median(all.map(({ meanwhile }) => meanwhile)) },
    {
      bench,
      what: "throughput that reads keep",
      cost: showRatios(ratios),
      ...judgeWithin(median(ratios), kept, Infinity),
    },
    { bench, what: "memory added", cost: `${grown.toFixed(0)} MB RSS`, ...judge(grown, memory, "MB") },
    { bench, what: `${perSecond.toFixed(0)} logins sent per second`, cost: statuses.join(", ") },
  ];
}

async function readsFor(url: URL, milliseconds: number): Promise<number> {
  using readers = await LoadGenerator.open(url, reads);
  const { requests, seconds } = await readers.run(milliseconds);
  return requests / seconds;
}

/** Sign-ins at ten times the rate that the machine can hash, from many addresses: what other requests keep. */
export const loginFloodBench: Bench = { name: "login-flood", measure };
