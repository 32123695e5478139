import { type RawBuilder, sql, type SqlBool } from "kysely";
import type { Context } from "../kernel/context.js";
import { anyOf } from "../kernel/queries.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const d = columnsOf("provisionerDaemons", "d");
const j = columnsOf("provisionerJobs", "j");

// Rules that decide which daemon `d` may run which job `j`, and what they mean for the jobs that wait. `takeJobs` of
// `work.ts` hands jobs out by the same conditions, with the values of its daemon, for which the queue has an index.

/** The condition on the tags of a daemon. Jobs without tags of their own go to daemons without any. */
export const tagsMatch = (tags: RawBuilder<unknown>) => sql<SqlBool>`(
  j.tags <@ ${tags} and (j.tags - '{scope,owner}'::text[] <> '{}' or ${tags} - '{scope,owner}'::text[] = '{}'))`;

/** The condition that the daemon `d` may run the job `j`. */
export const daemonMatches = sql<SqlBool>`(
  ${d.organizationId} = ${j.organizationId} and j.provisioner = any(d.provisioners)
  and (${j.pinnedDaemonId} is null or ${j.pinnedDaemonId} = d.id) and ${tagsMatch(sql`d.tags`)})`;

/** The condition that the daemon `d` is online. */
export const isOnline = sql<SqlBool>`${d.lastSeenAt} > now() - interval '90 seconds'`;

/** The condition that an online daemon could take the job `j`. */
export const hasDaemon = sql<SqlBool>`exists (select from provisioner_daemons d where ${daemonMatches} and ${isOnline})`;

/** The condition that the job `j` is in the queue: it was not handed out. It has the index of the queue. */
export const isWaiting = sql<SqlBool>`(${j.workerId} is null and ${j.completedAt} is null and j.status = 'pending')`;

/** The position of a job among those that wait; zeros unless an online daemon could take it, and once it was handed out. */
export interface QueuePlace {
  /** From 1: the lowest rank in the queue of any online daemon that could take the job. */
  position: number;
  /** The number of jobs in the longest of these queues. */
  size: number;
}

/** Batch read of the places of jobs in the queue. */
export async function queuePlacesOf(ctx: Context, jobIds: readonly string[]): Promise<QueuePlace[]> {
  // Daemons with equal abilities have the same queue, except for pinned jobs, which are counted for their daemon only.
  const rows = await ctx.db
    .with("ranked", (db) =>
      db
        .selectFrom("provisionerDaemons as d")
        .innerJoin("provisionerJobs as j", (join) => join.on(daemonMatches).on(isWaiting))
        .where(isOnline)
        .where("d.organizationId", "in", (eb) =>
          eb
            .selectFrom("provisionerJobs")
            .where("id", "=", anyOf(jobIds))
            .where("status", "=", "pending")
            .select("organizationId"),
        )
        .select(({ fn }) => [
          "j.id",
          fn
            .agg<number>("rank")
            .over((window) => window.partitionBy("d.id").orderBy("j.priority").orderBy("j.createdAt").orderBy("j.id"))
            .as("rank"),
          fn
            .countAll<number>()
            .over((window) => window.partitionBy("d.id"))
            .as("size"),
        ]),
    )
    .selectFrom("ranked")
    .where("id", "=", anyOf(jobIds))
    .groupBy("id")
    .select(({ fn }) => ["id", fn.min("rank").as("position"), fn.max("size").as("size")])
    .execute();
  const places = new Map(rows.map((place) => [place.id, place]));
  return jobIds.map((id) => places.get(id) ?? { position: 0, size: 0 });
}

/** The daemons that could take a job. */
export interface MatchedProvisioners {
  /** Online or not. */
  count: number;
  /** Those that were seen in the last 90 seconds. */
  available: number;
  /** When one of them was last seen; null if there is none. */
  mostRecentlySeen: string | null;
  /** Their ids, if the job waits. */
  workers: string[];
}

/** Batch read of the daemons that could take jobs. */
export async function matchedProvisionersOf(ctx: Context, jobIds: readonly string[]): Promise<MatchedProvisioners[]> {
  const rows = await ctx.db
    .selectFrom("provisionerJobs as j")
    .innerJoin("provisionerDaemons as d", (join) => join.on(daemonMatches))
    .where("j.id", "=", anyOf(jobIds))
    .groupBy("j.id")
    .select(({ fn }) => [
      "j.id",
      fn.countAll<number>().as("count"),
      fn.countAll<number>().filterWhere(isOnline).as("available"),
      fn.max("d.lastSeenAt").as("mostRecentlySeen"),
      sql<string[]>`coalesce(array_agg(d.id order by d.id) filter (where j.status = 'pending'), '{}')`.as("workers"),
    ])
    .execute();
  const matched = new Map(rows.map((each) => [each.id, each]));
  return jobIds.map((id) => matched.get(id) ?? { count: 0, available: 0, mostRecentlySeen: null, workers: [] });
}
