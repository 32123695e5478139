// Loads of which more replicas must do more: what creates users and what revokes access, through one replica and through two.
// Both wait for whatever all of them need: a row, or a look through what each replica holds.
import { insertSessions, sqlId, token } from "../data.js";
import { users } from "../growth/known.js";
import { withClient } from "../postgres.js";
import { graphql, request } from "../requests.js";
import { type Interval, ratioInterval } from "../statistics.js";
import { Clients, type Kind } from "./clients.js";
import type { Deployment } from "./deployment.js";

/** Operations at a time on each replica. */
const concurrent = 8;

/** Sessions that are ended, of one user. */
const sessions = { series: "r", count: 60_000 };

const schemas = ["urn:ietf:params:scim:schemas:core:2.0:User"];

function loads({ scimKey: bearer }: Deployment): Kind[] {
  let made = 0;
  let ended = 0;
  const create = () => {
    const userName = `newcomer-${++made}@corp.example`;
    const body = { schemas, userName, externalId: userName, active: true };
    return { bytes: request("POST", "/scim/v2/Users", { bearer, body }) };
  };
  const revoke = () => {
    if (ended === sessions.count) throw new Error("All sessions are revoked.");
    return { bytes: graphql("mutation { logout { __typename } }", {}, token(sessions.series, ended++)) };
  };
  return [
    { name: "creation of a user by SCIM", perSecond: 0, next: create },
    { name: "revocation of a session", perSecond: 0, next: revoke },
  ];
}

/** Sends each load in turn through one replica and through two. Resolves to the rate of two as multiple of that of one. */
export async function measureReplicas(
  deployment: Deployment,
  rounds: number,
  milliseconds: number,
): Promise<Record<string, Interval>> {
  await withClient(deployment.databaseUrl, (client) =>
    client.query(insertSessions(sessions.series, sessions.count, sqlId("1", String(users.owner)))),
  );
  const urls = deployment.servers.map(({ url }) => url);
  using one = new Clients(urls.slice(0, 1));
  using two = new Clients(urls);
  const gains: Record<string, Interval> = {};
  for (const kind of loads(deployment)) {
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const alone = await one.repeat(kind, concurrent, milliseconds);
      ratios.push((await two.repeat(kind, 2 * concurrent, milliseconds)) / alone);
    }
    gains[kind.name] = ratioInterval(ratios);
  }
  return gains;
}
