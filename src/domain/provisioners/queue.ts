import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { daemonMatches, isOnline, isWaiting } from "./matching.js";

/** The position of a job among those that wait; zeros unless an online daemon could take it, and once it was handed out. */
export interface QueuePlace {
  /** From 1: the lowest rank in the queue of any online daemon that could take the job. */
  position: number;
  /** The number of jobs in the longest of these queues. */
  size: number;
}

// Daemons with equal abilities have the same queue, except for pinned jobs, which are counted for their daemon only.
const queuePlaces = statement<QueuePlace & { id: string }>(`
  with organizations as (
    select distinct organization_id from provisioner_jobs where id = any($1::uuid[]) and status = 'pending'
  ), ranked as (
    select j.id, rank() over (partition by d.id order by j.priority, j.created_at, j.id) as rank,
      count(*) over (partition by d.id) as size
    from organizations o join provisioner_daemons d on d.organization_id = o.organization_id and ${isOnline}
      join provisioner_jobs j on j.organization_id = o.organization_id and ${isWaiting} and ${daemonMatches}
  )
  select id, min(rank)::int as position, max(size)::int as size from ranked where id = any($1::uuid[]) group by id`);

/** Batch read of the places of jobs in the queue. */
export async function queuePlacesOf(ctx: Context, jobIds: readonly string[]): Promise<QueuePlace[]> {
  const places = new Map((await ctx.rows(queuePlaces, jobIds)).map((each) => [each.id, each]));
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

const matchedDaemons = statement<MatchedProvisioners & { id: string }>(`
  select j.id, count(*) as count, count(*) filter (where ${isOnline}) as available,
    max(d.last_seen_at) as "mostRecentlySeen",
    coalesce(array_agg(d.id order by d.id) filter (where j.status = 'pending'), '{}') as workers
  from provisioner_jobs j join provisioner_daemons d on ${daemonMatches}
  where j.id = any($1::uuid[]) group by j.id`);

/** Batch read of the daemons that could take jobs. */
export async function matchedProvisionersOf(ctx: Context, jobIds: readonly string[]): Promise<MatchedProvisioners[]> {
  const matched = new Map((await ctx.rows(matchedDaemons, jobIds)).map((each) => [each.id, each]));
  return jobIds.map((id) => matched.get(id) ?? { count: 0, available: 0, mostRecentlySeen: null, workers: [] });
}
