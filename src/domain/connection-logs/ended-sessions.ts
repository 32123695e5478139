// Sessions whose agent is gone, and which therefore no report ends.
import { sql } from "kysely";
import type { Services } from "../kernel/context.js";
import { minute } from "../kernel/queries.js";

/** Maximum number of sessions that a statement ends. */
const batchSize = 1000;

/**
 * Ends sessions that are ongoing although their workspace was deleted, the token of their agent has ended, or the build
 * failed that made the agent: at the time at which that happened, with it as the reason. Missed heartbeats end none. A report
 * replaces this end. Replicas may run it concurrently.
 */
export async function endSessions({ database }: Pick<Services, "database">): Promise<void> {
  const ending = sql`
    with ended as materialized (
      select l.id, greatest(l.connect_time, e.time) as time, e.reason
      from connection_log l
      left join workspaces w on w.id = l.workspace_id
      left join workspace_agents a on a.id = l.reporter
      left join workspace_builds b on b.id = a.build_id
      left join provisioner_jobs j on j.id = b.job_id and j.status in ('failed', 'canceled')
      cross join lateral (
        select w.deleted_at as time, 'The workspace was deleted.' as reason where w.deleted_at is not null
        union all
        select a.token_ended_at, coalesce((
            select case next.transition when 'start' then 'The workspace was started again.' else 'The workspace was stopped.' end
            from workspace_builds next
            where next.workspace_id = b.workspace_id and next.build_number > b.build_number
              and next.transition in ('start', 'stop') and next.created_at <= a.token_ended_at
            order by next.build_number desc limit 1
          ), 'The token of the agent has ended.')
          where w.deleted_at is null and a.token_ended_at is not null
        union all
        select j.completed_at, 'The build of the agent failed.'
          where w.deleted_at is null and a.token_ended_at is null and j.completed_at >= l.connect_time
      ) e
      where l.disconnect_time is null and l.connection_id is not null
      order by l.connect_time, l.id
      limit ${batchSize}
      for no key update of l skip locked
    )
    update connection_log l
    set disconnect_time = ended.time, disconnect_reason = ended.reason, is_end_derived = true
    from ended where l.id = ended.id`;
  for (;;) {
    const { numAffectedRows } = await ending.execute(database.db);
    if (Number(numAffectedRows) < batchSize) return;
  }
}

export const sessionEnds = { name: "end sessions whose agent is gone", every: minute / 2, run: endSessions };
