import { type InferResult, sql } from "kysely";
import type { AgentUsage } from "../../entities/agents.js";
import type { Db } from "../../infrastructure/database/database.js";
import { anyOf, rowById, rowsByKey } from "../kernel/queries.js";
import type { Context } from "../kernel/context.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const a = columnsOf("workspaceAgents", "a");

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

/** Whether an agent `a` that was connected has sent no heartbeat for 30 seconds. It sends one every 10 seconds. */
export const isSilent = sql<boolean>`coalesce(${a.lastConnectedAt} < now() - interval '30 seconds', false)`;

/** Whether an agent `a` has ended its connection, or is silent. */
const isGone = sql<boolean>`(${a.disconnectedAt} is not null or ${isSilent})`;

/** The status of the agent `a`, by the clock of the database. */
export const agentStatus = sql<AgentStatus>`case
  when ${a.firstConnectedAt} is null
    then case when ${a.connectionTimeout} > 0 and ${a.createdAt} < now() - make_interval(secs => ${a.connectionTimeout})
      then 'timeout' else 'connecting' end
  when ${isGone} then 'disconnected' else 'connected' end`;

/** Why the agent `a` is not healthy; null if it is. */
export const agentHealthReason = sql<string | null>`case ${agentStatus}
  when 'connecting' then 'agent has not yet connected'
  when 'timeout' then 'agent is taking too long to connect'
  when 'disconnected' then 'agent has lost connection'
  else case when a.lifecycle = 'start_error' then 'agent startup script exited with an error'
    when a.lifecycle in ('shutting_down', 'shutdown_timeout', 'shutdown_error', 'off') then 'agent is shutting down' end
  end`;

/** Agents `a`, with what follows from the time of the statement. */
export const agents = (db: Db) =>
  db
    .selectFrom("workspaceAgents as a")
    .select([
      "a.id",
      "a.createdAt",
      "a.updatedAt",
      "a.workspaceId",
      "a.buildId",
      "a.resourceId",
      "a.name",
      "a.operatingSystem",
      "a.architecture",
      "a.directory",
      "a.expandedDirectory",
      "a.isExternal",
      "a.environment",
      "a.connectionTimeout",
      "a.startupScriptBehavior",
      "a.troubleshootingUrl",
      "a.displayApps",
      "a.version",
      "a.apiVersion",
      "a.subsystems",
      "a.lifecycle",
      "a.startedAt",
      "a.readyAt",
      "a.firstConnectedAt",
      "a.lastConnectedAt",
      "a.logSourceId",
      "a.logSequence",
      "a.logsLength",
      "a.logsOverflowed",
      "a.usage",
    ])
    .select([
      agentStatus.as("status"),
      // Null if the agent is healthy.
      agentHealthReason.as("healthReason"),
      // When the agent reported its end, or was last seen before it fell silent.
      sql<string | null>`coalesce(${a.disconnectedAt}, case when ${isGone} then ${a.lastConnectedAt} end)`.as(
        "disconnectedAt",
      ),
    ]);

/** An agent, with what follows from the time of the statement. */
export type AgentRow = InferResult<ReturnType<typeof agents>>[number];

const agentsInOrder = (db: Db) =>
  agents(db).innerJoin("workspaceResources as r", "r.id", "a.resourceId").orderBy("r.position").orderBy("a.id");

/** Batch read of the agents of resources, for `ctx.load`. Checks no permission: the resource does. */
export async function agentsByResource({ db }: Context, ids: readonly string[]): Promise<AgentRow[][]> {
  const found = await agentsInOrder(db).where("a.resourceId", "=", anyOf(ids)).execute();
  return rowsByKey(found, ids, ({ resourceId }) => resourceId);
}

/** Batch read of agents by id, for `ctx.load`. Checks no permission: the object that has the id does. */
export async function agentsById({ db }: Context, ids: readonly string[]): Promise<Array<AgentRow | undefined>> {
  const rows = await agents(db).where("a.id", "=", anyOf(ids)).execute();
  return rowById(rows, ids);
}

/** Batch read of the usage of workspaces, for `ctx.load`: that of the first agent that reported it. Checks no permission. */
export async function usageByWorkspace({ db }: Context, ids: readonly string[]): Promise<Array<AgentUsage | null>> {
  const found = await agentsInOrder(db)
    .where("a.workspaceId", "=", anyOf(ids))
    .where("a.tokenEndedAt", "is", null)
    .where("a.usage", "is not", null)
    .execute();
  return rowsByKey(found, ids, ({ workspaceId }) => workspaceId).map(([first]) => first?.usage ?? null);
}

/** The hint that the log of an agent grew. Other changes of an agent are those of its workspace. */
export const agentLogHint = (id: string) => ({ topic: "builds", id: `a:${id}` }) as const;
