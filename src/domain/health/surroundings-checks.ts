// Checks of what surrounds the servers: their address, machines, and versions, licenses, and keys of other programs.
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { TLSSocket } from "node:tls";
import { sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { localNames } from "../../infrastructure/http.js";
import { instantOf } from "../../runtime/clock.js";
import { readDeploymentId } from "../deployment/deployment.js";
import { systemContext } from "../kernel/context.js";
import { after, now } from "../kernel/queries.js";
import { day, second } from "../../runtime/durations.js";
import { isLocal } from "../workspace-proxies/sites.js";
import type { HealthCode } from "./catalog.js";
import {
  accessUrl,
  type AddressReading,
  clocks,
  disks,
  type EndingKey,
  endingKeys,
  licenses,
  replicaVersions,
  timeZones,
} from "./judgements.js";
import { ofReplicas, type Probe } from "./probes.js";

/** Milliseconds and bytes of a response at the external URL. */
const timeout = 5 * second;
const bodyLimit = 16_384;

const query = `/graphql?query=${encodeURIComponent("{ serverInfo { deploymentId } }")}`;

/** Asks the external URL which deployment it leads to, as other programs do. It is the operator's own. */
export function callAccessUrl(url: string): Promise<Omit<AddressReading, "isForOthers" | "isLocal">> {
  const { promise, resolve } = Promise.withResolvers<Omit<AddressReading, "isForOthers" | "isLocal">>();
  const target = new URL(query, url);
  const send = target.protocol === "https:" ? requestHttps : requestHttp;
  const fail = (reason: string) => resolve({ url, failure: reason });
  const request = send(
    target,
    { headers: { Accept: "application/json", "Apollo-Require-Preflight": "true" }, agent: false },
    (response) => {
      const certificateEnds = endOfCertificate(response.socket as Partial<TLSSocket>);
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
        if (text.length > bodyLimit) response.destroy(new Error("The response is too long."));
      });
      response.on("error", ({ message }) => fail(message));
      response.on("end", () => resolve({ url, certificateEnds, deploymentId: deploymentIn(text) }));
    },
  );
  request.on("error", ({ message, ...error }) => fail(message || ((error as { code?: string }).code ?? "It failed.")));
  request.end();
  const timer = setTimeout(() => {
    fail(`There was no response within ${timeout / 1000} seconds.`);
    request.destroy();
  }, timeout);
  return promise.finally(() => clearTimeout(timer));
}

/** When the certificate of a server ends, in Unix milliseconds; `undefined` without one that says so. */
function endOfCertificate(socket: Partial<TLSSocket>): number | undefined {
  try {
    return instantOf(socket.getPeerCertificate!().valid_to);
  } catch {
    return undefined;
  }
}

function deploymentIn(text: string): string | undefined {
  try {
    const { data } = JSON.parse(text) as { data?: { serverInfo?: { deploymentId?: unknown } } };
    const id = data?.serverInfo?.deploymentId;
    return typeof id === "string" ? id : undefined;
  } catch {
    return undefined;
  }
}

const isLocalHost = (hostname: string): boolean => localNames.test(hostname) || isLocal({ hostname });

/** Keys of other programs that end within two weeks, and were used within the last. People are told of their own. */
async function readEndingKeys(db: Db): Promise<EndingKey[]> {
  const soon = after(14 * day);
  const lately = after(-7 * day);
  return [
    ...(await db
      .selectFrom("scimKeys")
      .select([sql.lit("SCIM key").as("kind"), "name", "expiresAt as endsAt"])
      .where("expiresAt", ">", now)
      .where("expiresAt", "<=", soon)
      .where("lastUsedAt", ">", lately)
      .limit(mostKeys)
      .execute()),
    ...(await db
      .selectFrom("oauth2ClientSecrets as s")
      .innerJoin("oauth2Clients as c", "c.id", "s.clientId")
      .select([sql.lit("client secret of").as("kind"), "c.name", "s.expiresAt as endsAt"])
      .where("s.expiresAt", ">", now)
      .where("s.expiresAt", "<=", soon)
      .where("s.lastUsedAt", ">", lately)
      .limit(mostKeys)
      .execute()),
    ...(await db
      .selectFrom("provisionerKeys")
      .select([sql.lit("former secret of the provisioner key").as("kind"), "name", "formerSecretEndsAt as endsAt"])
      .where("formerSecretEndsAt", ">", now)
      .where("formerSecretEndsAt", "<=", soon)
      .where("formerSecretUsedAt", ">", lately)
      .limit(mostKeys)
      .execute()),
    ...(await db
      .selectFrom("apiKeys as k")
      .innerJoin("users as u", "u.id", "k.userId")
      .select([sql.lit("API token of a service account:").as("kind"), "k.name", "k.expiresAt as endsAt"])
      .where("k.kind", "=", "token")
      .where("u.isServiceAccount", "=", true)
      .where("k.expiresAt", ">", now)
      .where("k.expiresAt", "<=", soon)
      .where("k.lastUsedAt", ">", lately)
      .orderBy("k.expiresAt")
      .limit(mostKeys)
      .execute()),
  ].map(({ endsAt, ...key }) => ({ ...key, endsAt: endsAt! }));
}

const mostKeys = 100;

export const surroundingsProbes = {
  access_url: async ({ services, at }) => {
    const { accessUrl: url, host } = services.config;
    const called = await callAccessUrl(url);
    const reading = { ...called, isForOthers: !isLocalHost(host), isLocal: isLocalHost(new URL(url).hostname) };
    return accessUrl(reading, await readDeploymentId(systemContext(services)), at);
  },
  clock: async ({ replicas }) => clocks(ofReplicas(replicas, (each) => each.clockOffset)),
  time_zones: async ({ replicas }) =>
    timeZones(ofReplicas(replicas, (each) => ({ version: each.zoneDataVersion, disputed: each.disputedZones }))),
  disk: async ({ replicas }) => disks(ofReplicas(replicas, (each) => ({ free: each.diskFree, size: each.diskSize }))),
  replica_versions: async ({ replicas }) =>
    replicaVersions(replicas.map(({ hostname, version }) => ({ hostname, value: version }))),
  licenses: async ({ services }) => licenses(services.entitlements.current),
  ending_keys: async ({ db, at }) => endingKeys(await readEndingKeys(db), at),
} satisfies Partial<Record<HealthCode, Probe>>;
