// Sessions whose agent is gone, and which therefore no report ends.
import { sql } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Services } from "../kernel/context.js";
import { minute } from "../../runtime/durations.js";

const log = columnsOf("connectionLog");
const l = columnsOf("connectionLog", "l");
const w = columnsOf("workspaces", "w");
const a = columnsOf("workspaceAgents", "a");
const b = columnsOf("workspaceBuilds", "b");
const next = columnsOf("workspaceBuilds", "next");
const j = columnsOf("provisionerJobs", "j");

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
      select ${l.id}, greatest(${l.connectTime}, e.time) as time, e.reason
      from connection_log l
      left join workspaces w on ${w.id} = ${l.workspaceId}
      left join workspace_agents a on ${a.id} = ${l.reporter}
      left join workspace_builds b on ${b.id} = ${a.buildId}
      left join provisioner_jobs j on ${j.id} = ${b.jobId} and ${j.status} in ('failed', 'canceled')
      cross join lateral (
        select ${w.deletedAt} as time, 'The workspace was deleted.' as reason where ${w.deletedAt} is not null
        union all
        select ${a.tokenEndedAt}, coalesce((
            select case ${next.transition} when 'start' then 'The workspace was started again.' else 'The workspace was stopped.' end
            from workspace_builds next
            where ${next.workspaceId} = ${b.workspaceId} and ${next.buildNumber} > ${b.buildNumber}
              and ${next.transition} in ('start', 'stop') and ${next.createdAt} <= ${a.tokenEndedAt}
            order by ${next.buildNumber} desc limit 1
          ), 'The token of the agent has ended.')
          where ${w.deletedAt} is null and ${a.tokenEndedAt} is not null
        union all
        select ${j.completedAt}, 'The build of the agent failed.'
          where ${w.deletedAt} is null and ${a.tokenEndedAt} is null and ${j.completedAt} >= ${l.connectTime}
      ) e
      where ${l.disconnectTime} is null and ${l.connectionId} is not null
      order by ${l.connectTime}, ${l.id}
      limit ${batchSize}
      for no key update of l skip locked
    )
    update connection_log l
    set ${log.disconnectTime} = ended.time, ${log.disconnectReason} = ended.reason, ${log.isEndDerived} = true
    from ended where ${l.id} = ended.id`;
  for (;;) {
    const { numAffectedRows } = await ending.execute(database.db);
    if (Number(numAffectedRows) < batchSize) return;
  }
}

export const sessionEnds = { name: "end sessions whose agent is gone", every: minute / 2, run: endSessions };
