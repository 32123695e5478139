// Loads of which more replicas must do more: what creates users and what revokes access, through one replica and through two.
// Both wait for whatever all of them need: a row, or a look through what each replica holds.
import { insertSessions, sqlId, token } from "../data.js";
import { users } from "../growth/known.js";
import { withClient } from "../postgres.js";
import { judgeWithin, type Row } from "../report.js";
import { graphql, request } from "../requests.js";
import type { Run } from "../run.js";
import { median } from "../statistics.js";
import type { Deployment } from "./deployment.js";
import { measure } from "./meters.js";
import { Clients, type Kind } from "./open-loop.js";

/** Operations at a time on each replica. */
const concurrent = 8;

/** Sessions that are ended, of one user. */
const sessions = { series: "r", count: 60_000 };

/** Two replicas do at least so much of one, on two cores that these, Postgres, and the clients share. */
const least = 0.9;

interface Measured {
  perSecond: number;
  /** Microseconds of CPU of an operation. */
  servers: number;
  postgres: number;
}

/** Numbers of newcomers, which all loads of this process share. */
let made = 0;

/** Creations of users by an identity provider. */
export const creation = ({ scimKey }: Deployment): Kind => ({
  name: "creation of a user by SCIM",
  perSecond: 0,
  next: () => {
    const userName = `newcomer-${++made}@corp.example`;
    const body = {
      schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
      userName,
      externalId: userName,
      active: true,
    };
    return { bytes: request("POST", "/scim/v2/Users", { bearer: scimKey, body }) };
  },
});

const revocation = (): Kind => {
  let ended = 0;
  return {
    name: "revocation of a session",
    perSecond: 0,
    next: () => {
      if (ended === sessions.count) return undefined;
      const own = token(sessions.series, ended++);
      return { bytes: graphql("mutation { logout { __typename } }", {}, own) };
    },
  };
};

async function once(kind: Kind, clients: Clients, replicas: number, deployment: Deployment, run: Run, time: number) {
  const stop = await measure(deployment, run);
  const { times, faults } = await clients.repeat(kind, concurrent * replicas, time);
  const spent = await stop();
  if (faults.size > 0) throw new Error(`Operations of the kind ${kind.name} failed: ${[...faults.keys()].join("; ")}`);
  const count = times.length;
  return { perSecond: count / spent.seconds, servers: spent.servers / count, postgres: spent.postgres / count };
}

const middle = (all: readonly Measured[], of: (each: Measured) => number): number => median(all.map(of));

/** Measures each load in turn through one replica and through two, so many times for so many milliseconds. */
export async function measureReplicas(deployment: Deployment, run: Run, rounds: number, time: number): Promise<Row[]> {
  await withClient(deployment.databaseUrl, (client) =>
    client.query(insertSessions(sessions.series, sessions.count, sqlId("1", String(users.owner)))),
  );
  const urls = deployment.servers.map(({ url }) => url);
  using one = new Clients(urls.slice(0, 1));
  using two = new Clients(urls);
  const rows: Row[] = [];
  for (const kind of [creation(deployment), revocation()]) {
    const measured: Measured[][] = [[], []];
    for (let round = 0; round < rounds; round++)
      for (const [nr, clients] of [one, two].entries())
        measured[nr]!.push(await once(kind, clients, nr + 1, deployment, run, time));
    const [alone, both] = measured as [Measured[], Measured[]];
    const rates = [alone, both].map((all) => middle(all, ({ perSecond }) => perSecond)) as [number, number];
    for (const [nr, all] of [alone, both].entries()) {
      const [servers, postgres] = [middle(all, (each) => each.servers), middle(all, (each) => each.postgres)];
      rows.push({
        bench: "replicas",
        what: `${kind.name}, ${nr + 1} of them`,
        perSecond: rates[nr]!,
        cost: `${(servers + postgres).toFixed(0)} µs CPU (${servers.toFixed(0)} + ${postgres.toFixed(0)})`,
        ...(nr === 1 && {
          ratio: `${(rates[1] / rates[0]).toFixed(2)} × of one`,
          ...judgeWithin(rates[1] / rates[0], least, Infinity),
        }),
      });
    }
    run.progress(`scale: ${kind.name}: ${rates.map((rate) => rate.toFixed(0)).join(" and ")} a second`);
  }
  return rows;
}
