import { sql } from "kysely";
import { databaseTime } from "../../runtime/clock.js";

import type { AgentActor } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflict, Problems } from "../kernel/errors.js";
import { check, choice, inputOf, type Input, int, listOf, optional, prose, required } from "../kernel/values.js";
import { cleanLabel } from "../../runtime/text.js";
import { now } from "../kernel/queries.js";
import { onChange, type Watch, watching } from "../kernel/watching.js";
import { announceTaskError } from "../tasks/task-errors.js";
import { updateTaskStatus } from "../tasks/task-status.js";
import { workspaceHint } from "../workspaces/workspaces.js";
import { AgentLifecycle, AgentStatus, agentStatus } from "./agents.js";
import { callingAgent, existing, publishChange, taskOfAgent } from "./caller.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { longestApiVersion, longestPath, longestVersion } from "../../entities/lengths.js";

const w = columnsOf("workspaces", "w");
const a = columnsOf("workspaceAgents", "a");

// Agents report often: reports are not audited, and those that change nothing cause no hints.

/** Whether a stop or a deletion of the workspace `w` has begun, and has not failed. */
const isEnding = sql<boolean>`coalesce(${w.latestTransition} <> 'start'
  and ${w.latestStatus} in ('stopping', 'canceling', 'stopped', 'deleting', 'deleted'), false)`;

/** Locks the calling agent. Throws UNAUTHENTICATED if it was deleted. */
async function lockCaller({ db }: Context, { id }: AgentActor) {
  const locked = await db
    .selectFrom("workspaceAgents as a")
    .innerJoin("workspaces as w", "w.id", "a.workspaceId")
    .select(["a.lifecycle", agentStatus.as("status"), isEnding.as("isEnding"), taskOfAgent.as("taskId")])
    .where("a.id", "=", id)
    .forNoKeyUpdate("a")
    .executeTakeFirst();
  return existing(locked);
}

/** Updates the calling agent. */
const updateCaller = ({ db }: Context, { id }: AgentActor) =>
  db.updateTable("workspaceAgents as a").where("a.id", "=", id);

/** Records that the calling agent is connected. Returns whether it must shut down. */
export async function heartbeatAgent(ctx: Context): Promise<boolean> {
  const agent = callingAgent(ctx);
  const { status, isEnding: shutdown, taskId } = await lockCaller(ctx, agent);
  await updateCaller(ctx, agent)
    .set({
      lastConnectedAt: now,
      disconnectedAt: null,
      firstConnectedAt: sql<string>`coalesce(${a.firstConnectedAt}, now())`,
    })
    .execute();
  if (status === AgentStatus.CONNECTED) return shutdown;
  // The task of an agent that was lost is no longer in error.
  await updateTaskStatus(ctx, taskId);
  publishChange(ctx, agent, taskId);
  return shutdown;
}

/** Records that the calling agent ends its connection. The next heartbeat begins another. */
export async function disconnectAgent(ctx: Context): Promise<string> {
  const agent = callingAgent(ctx);
  const { taskId } = await lockCaller(ctx, agent);
  await updateCaller(ctx, agent).set({ disconnectedAt: now }).execute();
  publishChange(ctx, agent, taskId);
  return agent.id;
}

/** Parts of the environment that an agent runs in. */
export const AgentSubsystem = { ENVBOX: "envbox", ENVBUILDER: "envbuilder", EXECTRACE: "exectrace" } as const;
export type AgentSubsystem = (typeof AgentSubsystem)[keyof typeof AgentSubsystem];

export const AgentStartup = inputOf({
  version: required(prose(longestVersion), "Version of the program, {limits}."),
  apiVersion: optional(prose(longestApiVersion), "Version of the interface that it uses, {limits}. Default: empty."),
  expandedDirectory: required(prose(longestPath), "Its working directory, {limits}."),
  subsystems: optional(listOf(choice(AgentSubsystem)), "Parts of its environment. Default: none."),
});
export type AgentStartup = Input<typeof AgentStartup>;

/** Records what the calling agent is, when it starts. */
export async function reportAgentStartup(ctx: Context, startup: AgentStartup): Promise<string> {
  const agent = callingAgent(ctx);
  const problems = new Problems();
  check(AgentStartup, startup, problems);
  problems.throwIfAny();
  const { expandedDirectory } = startup;
  const apiVersion = startup.apiVersion ?? "";
  const version = cleanLabel(startup.version, 64);
  const subsystems = [...new Set(startup.subsystems)];
  const { taskId } = await lockCaller(ctx, agent);
  await updateCaller(ctx, agent)
    .set({ version, apiVersion, expandedDirectory, subsystems, startedAt: now, updatedAt: now })
    .execute();
  publishChange(ctx, agent, taskId);
  return agent.id;
}

/** Those with which a start ends. */
const started: ReadonlySet<AgentLifecycle> = new Set([
  AgentLifecycle.READY,
  AgentLifecycle.START_TIMEOUT,
  AgentLifecycle.START_ERROR,
]);

const order = Object.values(AgentLifecycle);

export const ReportAgentLifecycle = inputOf({
  state: required(choice(AgentLifecycle), "The state: a later one than before, or STARTING."),
});
export type ReportAgentLifecycle = Input<typeof ReportAgentLifecycle>;

/** Records the state of the calling agent. Throws CONFLICT for a former state other than `starting`. */
export async function reportAgentLifecycle(ctx: Context, state: AgentLifecycle): Promise<string> {
  const agent = callingAgent(ctx);
  const { lifecycle, taskId } = await lockCaller(ctx, agent);
  if (lifecycle === state) return agent.id;
  if (state !== AgentLifecycle.STARTING && order.indexOf(state) < order.indexOf(lifecycle))
    throw conflict(`The agent is ${lifecycle} already. It can only go back to starting.`);
  const readyAt = started.has(state) ? now : state === AgentLifecycle.STARTING ? null : undefined;
  await updateCaller(ctx, agent).set({ lifecycle: state, updatedAt: now, readyAt }).execute();
  const status = await updateTaskStatus(ctx, taskId);
  publishChange(ctx, agent, taskId);
  if (status === "error") await announceTaskError(ctx, taskId!);
  return agent.id;
}

/** A million processors, in thousandths of one. */
const millicores = int(0, 1_000_000_000);
const size = int(0, Number.MAX_SAFE_INTEGER);

/** Thousandths of a processor, and bytes; absent if unknown. */
export const AgentResources = inputOf({
  cpuUsedMillicores: optional(millicores, "Processors in use, in thousandths of one, since the report before."),
  cpuTotalMillicores: optional(millicores, "All processors, in thousandths of one: 1000 for each."),
  memoryUsedBytes: optional(size, "Memory in use, in bytes."),
  memoryTotalBytes: optional(size, "All memory, in bytes."),
  diskUsedBytes: optional(size, "Disk space in use, in bytes."),
  diskTotalBytes: optional(size, "All disk space, in bytes."),
});
export type AgentResources = Input<typeof AgentResources>;

/** Records the processors, memory and disk of the calling agent, in place of the last report. */
export async function reportAgentResources(ctx: Context, resources: AgentResources): Promise<string> {
  const agent = callingAgent(ctx);
  const problems = new Problems();
  check(AgentResources, resources, problems);
  problems.throwIfAny();
  const usage = {
    cpuUsedMillicores: resources.cpuUsedMillicores ?? null,
    cpuTotalMillicores: resources.cpuTotalMillicores ?? null,
    memoryUsedBytes: resources.memoryUsedBytes ?? null,
    memoryTotalBytes: resources.memoryTotalBytes ?? null,
    diskUsedBytes: resources.diskUsedBytes ?? null,
    diskTotalBytes: resources.diskTotalBytes ?? null,
    reportedAt: new Date(databaseTime()).toISOString(),
  };
  return existing(await updateCaller(ctx, agent).set({ usage }).returning("a.id").executeTakeFirst()).id;
}

/** The instructions for an agent. */
export interface AgentEvent {
  /** Whether it must end: a stop or a deletion of the workspace has begun. */
  shutdown: boolean;
  /** Why; null unless it must end. */
  reason: string | null;
}

const reasons = { stop: "The workspace is being stopped.", delete: "The workspace is being deleted." };

async function readEvent(ctx: Context, workspaceId: string): Promise<AgentEvent> {
  const workspace = await ctx.db
    .selectFrom("workspaces as w")
    .select([isEnding.as("isEnding"), "w.latestTransition as transition"])
    .where("w.id", "=", workspaceId)
    .executeTakeFirst();
  const { isEnding: shutdown, transition } = existing(workspace);
  return { shutdown, reason: shutdown && transition && transition !== "start" ? reasons[transition] : null };
}

/** Streams what the calling agent must do: first the current state, then each change. Ends with its token. */
export const watchAgentEvents = (ctx: Context): Promise<Watch<AgentEvent>> =>
  watching(ctx, {
    while: (fresh) => callingAgent(fresh).workspaceId,
    hints: (workspaceId) => [workspaceHint(workspaceId)],
    read: onChange(readEvent, ({ shutdown }) => shutdown),
  });
