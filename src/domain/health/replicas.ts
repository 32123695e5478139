// The servers of the deployment that run: each notes repeatedly that it does, and what it knows of itself and its machine.
import { statfs } from "node:fs/promises";
import { hostname } from "node:os";
import { type InferResult, sql } from "kysely";
import type { ReplicaReadings } from "../../entities/health.js";
import type { Db } from "../../infrastructure/database/database.js";
import { databaseTime } from "../../runtime/clock.js";
import { version } from "../../runtime/program-files.js";
import { zoneSources } from "../../runtime/time-zones/zone-data.js";
import { clockOffset } from "../deployment/clock.js";
import { disputedZones } from "../deployment/zone-check.js";
import type { Services } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { after, now } from "../kernel/queries.js";
import { minute } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const excluded = columnsOf("serverReplicas", "excluded");

/** Milliseconds after which a server that has noted nothing counts as gone. */
export const silence = minute;

/** Ids of the servers of this process. Tests have several. */
const ids = new WeakMap<Services, { id: string; startedAt: Date }>();

function identityOf(services: Services): { id: string; startedAt: Date } {
  const known = ids.get(services) ?? { id: newId(), startedAt: new Date(databaseTime()) };
  ids.set(services, known);
  return known;
}

/** Statements of which the fastest tells the latency: others may have waited for a connection or for this process. */
const tries = 3;

async function latencyOf({ database: { db } }: Services): Promise<number> {
  let least = Infinity;
  for (let nr = 0; nr < tries; nr++) {
    const start = performance.now();
    await sql`select 1`.execute(db);
    least = Math.min(least, performance.now() - start);
  }
  return least;
}

/** Reads what this server knows of itself. */
async function readingsOf(services: Services): Promise<ReplicaReadings> {
  const { config, database, events, standby: reads } = services;
  const disk = await statfs(config.dataDir).catch(() => undefined);
  return {
    databaseLatency: await latencyOf(services),
    poolSize: database.pools.reduce((sum, { options }) => sum + options.max, 0),
    poolWaiting: database.pools.reduce((sum, { waitingCount }) => sum + waitingCount, 0),
    isEventsConnected: events.isConnected,
    isStandbyUsed: reads ? !reads.isGivenUp : null,
    clockOffset: clockOffset(),
    diskFree: disk ? disk.bavail * disk.bsize : null,
    diskSize: disk ? disk.blocks * disk.bsize : null,
    zoneDataVersion: zoneSources()[0].version,
    disputedZones: disputedZones(services),
  };
}

/** Notes that this server runs. */
export async function noteReplica(services: Services): Promise<void> {
  const { id, startedAt } = identityOf(services);
  const readings = await readingsOf(services);
  await services.database.db
    .insertInto("serverReplicas")
    .values({ id, hostname: hostname().slice(0, 255), version, startedAt, seenAt: now, readings })
    .onConflict((conflict) => conflict.column("id").doUpdateSet({ seenAt: now, readings: sql`${excluded.readings}` }))
    .execute();
}

const replicas = (db: Db) =>
  db
    .selectFrom("serverReplicas")
    .select(["hostname", "version", "readings"])
    .where("seenAt", ">", after(-silence))
    .orderBy("hostname")
    .orderBy("id");

export type Replica = InferResult<ReturnType<typeof replicas>>[number];

/** Reads the servers that run. */
export const readReplicas = (db: Db): Promise<Replica[]> => replicas(db).execute();

/** Deletes servers that have been gone for a while. */
export const goneReplicaPurge = purge("server_replicas", { by: "seen_at", keptFor: 10 * minute });
