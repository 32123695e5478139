// How long other writes take beside creations of users, whose transactions wait for rows that all of them change, and beside
// reads that cost as much CPU: what waits for a row must not keep others from a connection.
import { get, graphql } from "../requests.js";
import { judgeWithin, type Row } from "../report.js";
import type { Run } from "../run.js";
import { median } from "../statistics.js";
import type { Deployment } from "./deployment.js";
import { measure } from "./meters.js";
import { Clients, type Kind } from "./open-loop.js";
import { creation } from "./replicas.js";

/** Operations at a time while the cost and the highest rate of a kind are measured. */
const concurrent = 8;

/** Other writes per second: few, so that they wait for what goes on beside them and not for each other. */
const writesPerSecond = 25;

/** Other writes take at most so many times as long beside creations as beside reads. */
const most = 2;

const write = ({ people }: Deployment): Kind => {
  let done = 0;
  const document = "mutation($name: String!) { updateProfile(input: { name: $name }) { user { id } } }";
  return {
    name: "change of an own name",
    perSecond: writesPerSecond,
    next: () => {
      const { nr, token } = people[done++ % people.length]!;
      return { bytes: graphql(document, { name: `Person ${nr}, change ${done}` }, token) };
    },
  };
};

const read = ({ people }: Deployment): Kind => {
  let done = 0;
  const next = () => ({ bytes: get("/api/v2/users/me/secrets", people[done++ % people.length]!.token) });
  return { name: "read", perSecond: 0, next };
};

/** Measures other writes in turn beside creations at half of their highest rate and beside reads of equal CPU. */
export async function measureNeighbors(deployment: Deployment, run: Run, rounds: number, time: number): Promise<Row[]> {
  using clients = new Clients(deployment.servers.slice(0, 1).map(({ url }) => url));
  const [creations, reads, writes] = [creation(deployment), read(deployment), write(deployment)];
  const microseconds: number[] = [];
  for (const kind of [creations, reads]) {
    const stop = await measure(deployment, run);
    const { times, faults } = await clients.repeat(kind, concurrent, time);
    const { seconds, servers, postgres } = await stop();
    if (faults.size > 0)
      throw new Error(`Operations of the kind ${kind.name} failed: ${[...faults.keys()].join("; ")}`);
    microseconds.push((servers + postgres) / times.length);
    if (kind === creations) kind.perSecond = times.length / seconds / 2;
  }
  reads.perSecond = (creations.perSecond * microseconds[0]!) / microseconds[1]!;

  const middles: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++)
    for (const [nr, other] of [creations, reads].entries()) {
      const outcome = (await clients.run([writes, other], 1, time)).get(writes.name)!;
      if (outcome.faultCount > 0) throw new Error(`Writes failed: ${[...outcome.faults.keys()].join("; ")}`);
      middles[nr]!.push(median(outcome.times));
    }
  const [besideCreations, besideReads] = middles.map(median) as [number, number];
  const ratio = besideCreations / besideReads;
  run.progress(
    `scale: other writes: p50 ${besideCreations.toFixed(1)} ms beside creations, ${besideReads.toFixed(1)} ms beside reads`,
  );
  return [
    {
      bench: "neighbors",
      what: `${writes.name}, beside ${creations.perSecond.toFixed(0)} creations a second`,
      perSecond: writesPerSecond,
      cost: `p50 ${besideCreations.toFixed(1)} ms`,
      ratio: `${ratio.toFixed(2)} × of beside reads`,
      ...judgeWithin(ratio, 0, most),
    },
    {
      bench: "neighbors",
      what: `${writes.name}, beside ${reads.perSecond.toFixed(0)} reads a second of equal CPU`,
      perSecond: writesPerSecond,
      cost: `p50 ${besideReads.toFixed(1)} ms`,
    },
  ];
}
