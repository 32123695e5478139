import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { conflict, Problems } from "../kernel/errors.js";
import { proseProblem, wholeNumber } from "../kernel/text.js";
import { updateTaskStatus } from "../tasks/status.js";
import { AgentLifecycle, agentStatus, type AgentUsage } from "./agents.js";
import { callingAgent, existing, publishChange, taskOfAgent } from "./changes.js";
import { isEnding } from "./events.js";

// Agents report often: reports are not audited, and those that change nothing cause no hints.

const heartbeat = statement<{ isEnding: boolean; wasConnected: boolean; taskId: string | null }>(`
  with before as (
    select a.id, ${agentStatus} = 'connected' as "wasConnected" from workspace_agents a where a.id = $1
    for no key update
  )
  update workspace_agents a set last_connected_at = now(), disconnected_at = null,
    first_connected_at = coalesce(a.first_connected_at, now())
  from before join workspaces w on w.id = $2 where a.id = before.id
  returning ${isEnding} as "isEnding", before."wasConnected", ${taskOfAgent} as "taskId"`);

/** Records that the calling agent is connected. Returns whether it must shut down. */
export async function heartbeatAgent(ctx: Context): Promise<boolean> {
  const agent = callingAgent(ctx);
  const { isEnding: shutdown, wasConnected, taskId } = existing(await ctx.row(heartbeat, agent.id, agent.workspaceId));
  if (!wasConnected) publishChange(ctx, agent, taskId);
  return shutdown;
}

const disconnect = statement<{ taskId: string | null }>(`
  update workspace_agents a set disconnected_at = now() where a.id = $1 returning ${taskOfAgent} as "taskId"`);

/** Records that the calling agent ends its connection. The next heartbeat begins another. */
export async function disconnectAgent(ctx: Context): Promise<string> {
  const agent = callingAgent(ctx);
  publishChange(ctx, agent, existing(await ctx.row(disconnect, agent.id)).taskId);
  return agent.id;
}

/** Parts of the environment that an agent runs in. */
export const AgentSubsystem = { ENVBOX: "envbox", ENVBUILDER: "envbuilder", EXECTRACE: "exectrace" } as const;
export type AgentSubsystem = (typeof AgentSubsystem)[keyof typeof AgentSubsystem];

export interface AgentStartup {
  version: string;
  /** Default: empty. */
  apiVersion?: string | null;
  expandedDirectory: string;
  /** Default: none. */
  subsystems?: AgentSubsystem[] | null;
}

const storeStartup = statement<{ taskId: string | null }>(`
  update workspace_agents a set version = $2, api_version = $3, expanded_directory = $4, subsystems = $5,
    started_at = now(), updated_at = now()
  where a.id = $1 returning ${taskOfAgent} as "taskId"`);

/** Records what the calling agent is, when it starts. */
export async function reportAgentStartup(ctx: Context, startup: AgentStartup): Promise<string> {
  const agent = callingAgent(ctx);
  const { version, expandedDirectory } = startup;
  const apiVersion = startup.apiVersion ?? "";
  const problems = new Problems();
  problems.add("version", proseProblem(version, 64));
  problems.add("apiVersion", proseProblem(apiVersion, 16));
  problems.add("expandedDirectory", proseProblem(expandedDirectory, 4096));
  problems.throwIfAny();
  const subsystems = [...new Set(startup.subsystems)];
  const stored = await ctx.row(storeStartup, agent.id, version, apiVersion, expandedDirectory, subsystems);
  publishChange(ctx, agent, existing(stored).taskId);
  return agent.id;
}

const lockLifecycle = statement<{ lifecycle: AgentLifecycle }>(
  "select lifecycle from workspace_agents where id = $1 for no key update",
);

const storeLifecycle = statement<{ taskId: string | null }>(`
  update workspace_agents a set lifecycle = $2, updated_at = now(), ready_at = case
    when $2 in ('ready', 'start_timeout', 'start_error') then now() when $2 <> 'starting' then ready_at end
  where a.id = $1 returning ${taskOfAgent} as "taskId"`);

const order = Object.values(AgentLifecycle);

/** Records the state of the calling agent. Throws CONFLICT for a former state other than `starting`. */
export async function reportAgentLifecycle(ctx: Context, state: AgentLifecycle): Promise<string> {
  const agent = callingAgent(ctx);
  const { lifecycle } = existing(await ctx.row(lockLifecycle, agent.id));
  if (lifecycle === state) return agent.id;
  if (state !== AgentLifecycle.STARTING && order.indexOf(state) < order.indexOf(lifecycle))
    throw conflict(`The agent is ${lifecycle} already. It can only go back to starting.`);
  const { taskId } = existing(await ctx.row(storeLifecycle, agent.id, state));
  await updateTaskStatus(ctx, taskId);
  publishChange(ctx, agent, taskId);
  return agent.id;
}

/** Bytes; absent if unknown. */
export type AgentResources = { [Part in Exclude<keyof AgentUsage, "reportedAt">]?: number | null };

const parts = ["memoryUsedBytes", "memoryTotalBytes", "diskUsedBytes", "diskTotalBytes"] as const;

const storeUsage = statement<{ id: string }>(`
  update workspace_agents set usage = $2::jsonb || jsonb_build_object('reportedAt',
    to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  where id = $1 returning id`);

/** Records the memory and disk of the calling agent, in place of the last report. */
export async function reportAgentResources(ctx: Context, resources: AgentResources): Promise<string> {
  const agent = callingAgent(ctx);
  const problems = new Problems();
  for (const part of parts)
    problems.add(part, (resources[part] ?? 0) < 0 ? wholeNumber(0, Number.MAX_SAFE_INTEGER) : undefined);
  problems.throwIfAny();
  const usage = Object.fromEntries(parts.map((part) => [part, resources[part] ?? null]));
  return existing(await ctx.row(storeUsage, agent.id, JSON.stringify(usage))).id;
}
