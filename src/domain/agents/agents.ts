import { type AgentUsage, WorkspaceAgent } from "../../entities/agents.js";
import { rowsByKey } from "../kernel/batches.js";
import { type Columns, columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";

export type { AgentUsage };

/** Whether an agent is connected. */
export const AgentStatus = {
  CONNECTING: "connecting",
  TIMEOUT: "timeout",
  CONNECTED: "connected",
  DISCONNECTED: "disconnected",
} as const;
export type AgentStatus = (typeof AgentStatus)[keyof typeof AgentStatus];

/** The states of agents, in the order in which they follow. */
export const AgentLifecycle = {
  CREATED: "created",
  STARTING: "starting",
  START_TIMEOUT: "start_timeout",
  START_ERROR: "start_error",
  READY: "ready",
  SHUTTING_DOWN: "shutting_down",
  SHUTDOWN_TIMEOUT: "shutdown_timeout",
  SHUTDOWN_ERROR: "shutdown_error",
  OFF: "off",
} as const;
export type AgentLifecycle = (typeof AgentLifecycle)[keyof typeof AgentLifecycle];

/** Silence after which an agent counts as disconnected. Agents send a heartbeat every 10 seconds. */
const silence = "interval '30 seconds'";

const isGone = `(a.disconnected_at is not null or a.last_connected_at < now() - ${silence})`;

/** SQL: the status of the agent `a`, by the clock of the database. */
export const agentStatus = `case
  when a.first_connected_at is null
    then case when a.connection_timeout > 0 and a.created_at < now() - make_interval(secs => a.connection_timeout)
      then 'timeout' else 'connecting' end
  when ${isGone} then 'disconnected' else 'connected' end`;

/** SQL: why the agent `a` is not healthy; null if it is. */
export const agentHealthReason = `case ${agentStatus}
  when 'connecting' then 'agent has not yet connected'
  when 'timeout' then 'agent is taking too long to connect'
  when 'disconnected' then 'agent has lost connection'
  else case when a.lifecycle = 'start_error' then 'agent startup script exited with an error'
    when a.lifecycle in ('shutting_down', 'shutdown_timeout', 'shutdown_error', 'off') then 'agent is shutting down' end
  end`;

const stored = columnsOf(WorkspaceAgent, "a", [
  "id",
  "createdAt",
  "updatedAt",
  "workspaceId",
  "buildId",
  "resourceId",
  "name",
  "operatingSystem",
  "architecture",
  "directory",
  "expandedDirectory",
  "isExternal",
  "environment",
  "connectionTimeout",
  "startupScriptBehavior",
  "troubleshootingUrl",
  "displayApps",
  "version",
  "apiVersion",
  "subsystems",
  "lifecycle",
  "startedAt",
  "readyAt",
  "firstConnectedAt",
  "lastConnectedAt",
  "logSourceId",
  "logSequence",
  "logsLength",
  "logsOverflowed",
  "usage",
]);

/** An agent, with what follows from the time of the statement. */
export type AgentRow = RowOf<typeof stored> & {
  status: AgentStatus;
  /** Null if the agent is healthy. */
  healthReason: string | null;
  /** When the agent reported its end, or was last seen before it fell silent. */
  disconnectedAt: string | null;
};

/** The select list of agents `a`. */
export const agentColumns: Columns<AgentRow> = `${stored}, ${agentStatus} as status,
  ${agentHealthReason} as "healthReason",
  coalesce(a.disconnected_at, case when ${isGone} then a.last_connected_at end) as "disconnectedAt"`;

const inOrder = "order by r.position, a.id";

const agentsOfBuilds = statement<AgentRow>(`
  select ${agentColumns} from workspace_agents a join workspace_resources r on r.id = a.resource_id
  where a.build_id = any($1::uuid[]) ${inOrder}`);

/** Batch read of the agents of builds, for `ctx.load`. Checks no permission: the build does. */
export const agentsByBuild = async (ctx: Context, ids: readonly string[]): Promise<AgentRow[][]> =>
  rowsByKey(await ctx.rows(agentsOfBuilds, ids), ids, ({ buildId }) => buildId);

const agentsOfResources = statement<AgentRow>(`
  select ${agentColumns} from workspace_agents a join workspace_resources r on r.id = a.resource_id
  where a.resource_id = any($1::uuid[]) ${inOrder}`);

/** Batch read of the agents of resources, for `ctx.load`. Checks no permission: the resource does. */
export const agentsByResource = async (ctx: Context, ids: readonly string[]): Promise<AgentRow[][]> =>
  rowsByKey(await ctx.rows(agentsOfResources, ids), ids, ({ resourceId }) => resourceId);

const agentsOfIds = statement<AgentRow>(`select ${agentColumns} from workspace_agents a where a.id = any($1::uuid[])`);

/** Batch read of agents by id, for `ctx.load`. Checks no permission: the object that has the id does. */
export async function agentsById(ctx: Context, ids: readonly string[]): Promise<Array<AgentRow | undefined>> {
  const agents = new Map((await ctx.rows(agentsOfIds, ids)).map((agent) => [agent.id, agent]));
  return ids.map((id) => agents.get(id));
}

/** The hint that the log of an agent grew. Other changes of an agent are those of its workspace. */
export const agentLogHint = (id: string) => ({ topic: "builds", id: `a:${id}` }) as const;
