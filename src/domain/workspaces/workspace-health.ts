// Whether a workspace works, in one place: its latest build, its agents, and their apps.
import { sql, type SqlBool } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { agentStatus } from "../agents/agents.js";
import type { Context } from "../kernel/context.js";
import { after, rowById } from "../kernel/queries.js";
import { minute } from "../../runtime/durations.js";
import { hasDaemon, isOnline, isWaiting } from "../provisioners/matching.js";

const w = columnsOf("workspaces", "w");
const b = columnsOf("workspaceBuilds", "b");
const j = columnsOf("provisionerJobs", "j");
const a = columnsOf("workspaceAgents", "a");
const p = columnsOf("workspaceApps", "p");

/** Whether a workspace or a task works. */
export const WorkspaceHealthState = {
  HEALTHY: "healthy",
  IN_PROGRESS: "in_progress",
  UNHEALTHY: "unhealthy",
} as const;
export type WorkspaceHealthState = (typeof WorkspaceHealthState)[keyof typeof WorkspaceHealthState];

/** The health of a workspace or a task: if it does not work, why, since when, and what helps. */
export interface WorkspaceHealth {
  state: WorkspaceHealthState;
  /** The fault, or the step that is awaited; null for healthy ones. */
  reason: string | null;
  /** RFC 3339; null for healthy ones. */
  since: string | null;
  /** A remedy; null unless something is wrong. */
  help: string | null;
}

export const healthy: WorkspaceHealth = { state: "healthy", reason: null, since: null, help: null };

/** Milliseconds that a job may wait without a connected daemon for it, and with one, until the workspace is unhealthy. */
const longestWait = { withoutDaemon: minute, withDaemon: 5 * minute };

/** The faults, with what is said of each. `name` is that of an agent or an app. */
const problems = {
  build_failed: {
    reason: () => "Its latest build failed.",
    help: "Read the log of the build. Start it again, or delete it.",
  },
  build_canceled: {
    reason: () => "Its latest build was canceled.",
    help: "Start it again, or delete it.",
  },
  no_daemon: {
    reason: () => "Its build waits, and no provisioner daemon is connected that could take it.",
    help: "An administrator has to start a provisioner daemon with the tags of the template.",
  },
  waits_long: {
    reason: () => "Its build waits: all provisioner daemons that could take it are busy.",
    help: "Wait, or ask an administrator for more provisioner daemons.",
  },
  daemon_lost: {
    reason: () => "The provisioner daemon that works on its build does not respond.",
    help: "The build fails soon, unless the daemon comes back. Start it again then.",
  },
  agent_timeout: {
    reason: (name: string) => `The agent ${name} has not connected in time.`,
    help: "Read the log of the build, and look whether the machine runs and reaches the server. Restart the workspace.",
  },
  agent_lost: {
    reason: (name: string) => `The agent ${name} has lost its connection. Its machine may be gone.`,
    help: "Wait a moment, if the network is the cause. Otherwise restart the workspace.",
  },
  agent_stopped: {
    reason: (name: string) => `The agent ${name} has shut down.`,
    help: "Restart the workspace.",
  },
  script_failed: {
    reason: (name: string) => `A startup script of the agent ${name} failed.`,
    help: "Read the log of the agent. The workspace can be used, but something may be missing in it.",
  },
  agent_slow: {
    reason: (name: string) => `The agent ${name} has been starting for too long.`,
    help: "Read the log of the agent: its startup script may hang. Restart the workspace.",
  },
  app_unhealthy: {
    reason: (name: string) => `The app ${name} is unhealthy.`,
    help: "Read the log of the agent, and look whether the program of the app runs.",
  },
  app_slow: {
    reason: (name: string) => `The app ${name} has been starting for too long.`,
    help: "Read the log of the agent, and look whether the program of the app runs.",
  },
} as const satisfies Record<string, { reason: (name: string) => string; help: string }>;
type Problem = keyof typeof problems;

/** The steps that may be awaited. */
const awaited = {
  building: () => "Its build is in progress.",
  agent_connecting: (name: string) => `The agent ${name} has not connected yet.`,
  agent_starting: (name: string) => `The agent ${name} is starting.`,
  app_starting: (name: string) => `The app ${name} is starting.`,
} as const satisfies Record<string, (name: string) => string>;

/** All faults and steps, the worst first. */
const codes = [...Object.keys(problems), ...Object.keys(awaited)];

const isProblem = (code: string): code is Problem => Object.hasOwn(problems, code);

/** How the build that has not succeeded stands. */
const ofBuild = sql`
  select case
      when ${w.latestStatus} = 'failed' then 'build_failed'
      when ${w.latestStatus} = 'canceled' then 'build_canceled'
      when ${isWaiting} and not ${hasDaemon} and ${j.createdAt} < ${after(-longestWait.withoutDaemon)} then 'no_daemon'
      when ${isWaiting} and ${j.createdAt} < ${after(-longestWait.withDaemon)} then 'waits_long'
      when exists (select from provisioner_daemons d where d.id = ${j.workerId} and not ${isOnline})
        then 'daemon_lost'
      else 'building' end as code,
    coalesce(${j.completedAt}, ${j.startedAt}, ${j.createdAt}) as since, '' as name
  from workspace_builds b join provisioner_jobs j on j.id = ${b.jobId}
  where b.id = ${w.latestBuildId} and ${w.latestStatus} not in ('running', 'stopped', 'deleted')`;

/** Whether the start of the agent `a` takes longer than it may. */
const isSlow = (limit: number) => sql`${a.createdAt} < ${after(-limit)}`;

const current = sql`${a.workspaceId} = w.id and ${a.tokenEndedAt} is null and ${w.latestStatus} = 'running'`;

const ofAgents = (limit: number) => sql`
  select code, since, name from (
    select a.name, case ${agentStatus}
        when 'timeout' then 'agent_timeout'
        when 'disconnected' then 'agent_lost'
        when 'connecting' then 'agent_connecting'
        else case
          when a.lifecycle = 'start_error' then 'script_failed'
          when a.lifecycle in ('shutting_down', 'shutdown_timeout', 'shutdown_error', 'off') then 'agent_stopped'
          when a.lifecycle in ('created', 'starting') then case when ${isSlow(limit)} then 'agent_slow' else 'agent_starting' end
        end end as code,
      case when ${a.firstConnectedAt} is null then ${a.createdAt}
        when ${agentStatus} = 'disconnected' then coalesce(${a.disconnectedAt}, ${a.lastConnectedAt})
        else coalesce(${a.readyAt}, ${a.startedAt}, ${a.createdAt}) end as since
    from workspace_agents a where ${current}) agents
  where code is not null`;

const ofApps = (limit: number) => sql`
  select case when p.health = 'unhealthy' then 'app_unhealthy' when ${isSlow(limit)} then 'app_slow' else 'app_starting' end,
    case when p.health = 'unhealthy' then ${p.updatedAt} else ${a.createdAt} end, coalesce(nullif(${p.displayName}, ''), p.slug)
  from workspace_apps p join workspace_agents a on a.id = ${p.agentId}
  where ${current} and p.health in ('unhealthy', 'initializing') and ${agentStatus} = 'connected'`;

/** The codes of the workspace `w`, with the time since when, and the name of the agent or the app. */
const codesOf = ({ config: { startLimit } }: Pick<Context, "config">) =>
  sql`${ofBuild} union all ${ofAgents(startLimit)} union all ${ofApps(startLimit)}`;

/** The condition that something is wrong with the workspace `w`. Without the offset, Postgres might read those of all. */
export const isUnhealthy = (ctx: Pick<Context, "config">) => sql<SqlBool>`exists (
  select from (${codesOf(ctx)} offset 0) found where code = any(${Object.keys(problems)}::text[]))`;

/** Batch read of the health of workspaces, for `ctx.load`. Checks no permission: the object that has the id does. */
export async function workspaceHealths(ctx: Context, ids: readonly string[]): Promise<WorkspaceHealth[]> {
  const { rows } = await sql<{ id: string; code: string; since: string; name: string }>`
    select w.id, found.code, found.since, found.name
    from workspaces w cross join lateral (
      select * from (${codesOf(ctx)}) found order by array_position(${codes}::text[], found.code), found.since limit 1) found
    where w.id = any(${ids}::uuid[])`.execute(ctx.db);
  const found = rowById(rows, ids);
  return found.map((row) => (row ? healthOf(row) : healthy));
}

function healthOf({ code, since, name }: { code: string; since: string; name: string }): WorkspaceHealth {
  if (!isProblem(code)) {
    const reason = awaited[code as keyof typeof awaited](name);
    return { state: "in_progress", reason, since, help: null };
  }
  const { reason, help } = problems[code];
  return { state: "unhealthy", reason: reason(name), since, help };
}
