import { may } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { conflict, DomainError } from "../kernel/errors.js";
import { rfc3339 } from "../../infrastructure/database/parsers.js";
import { type AgentMessage, AgentUnreachable } from "../outside/agent-api.js";
import { appBase } from "./app.js";
import { statusSentence } from "./status.js";
import { type TaskRow, taskTarget } from "./tasks.js";

/** Who wrote an entry: a user (input), or the program (output). */
export const TaskLogType = { INPUT: "input", OUTPUT: "output" } as const;
export type TaskLogType = (typeof TaskLogType)[keyof typeof TaskLogType];

export interface TaskLogEntry {
  id: number;
  content: string;
  type: TaskLogType;
  time: string;
}

/** The conversation of a task, live or as last stored. */
export interface TaskLogs {
  entries: TaskLogEntry[];
  /** Whether the entries are stored ones. */
  snapshot: boolean;
  /** When they were stored; null for live entries, and if none were stored. */
  snapshotAt: string | null;
}

export const entryOf = ({ id, role, content, time }: AgentMessage): TaskLogEntry => ({
  id,
  content,
  type: role === "user" ? TaskLogType.INPUT : TaskLogType.OUTPUT,
  time,
});

interface SnapshotRow {
  messages: AgentMessage[];
  capturedAt: string;
}

const snapshotOf = statement<SnapshotRow>(
  `select messages, captured_at as "capturedAt" from task_log_snapshots where task_id = $1`,
);

/**
 * Reads the conversation of a task: of an active one from its program, for callers who may connect to it; else what its
 * agent stored. Throws UNAVAILABLE if the program fails, CONFLICT in the states error and unknown, if nothing is stored.
 */
export async function readTaskLogs(ctx: Context, task: TaskRow): Promise<TaskLogs> {
  const isLive = task.status === "active" && may(ctx.actor, "workspace:application_connect", taskTarget(task));
  const live = isLive ? await liveEntries(ctx, task) : undefined;
  if (Array.isArray(live)) return { entries: live, snapshot: false, snapshotAt: null };
  const stored = await ctx.row(snapshotOf, task.id);
  if (stored) return { entries: stored.messages.map(entryOf), snapshot: true, snapshotAt: rfc3339(stored.capturedAt) };
  if (live) throw live;
  if (task.status === "error" || task.status === "unknown")
    throw conflict(`${statusSentence(task.status)} It has no stored logs.`);
  return { entries: [], snapshot: true, snapshotAt: null };
}

const unreachable = (cause?: unknown) =>
  new DomainError("UNAVAILABLE", "Failed to reach the task app.", { upstream: true, cause });

/** The entries of a program, or the failure to read them. */
async function liveEntries(ctx: Context, { appUrl }: TaskRow): Promise<TaskLogEntry[] | DomainError> {
  const base = appBase(appUrl);
  if (base === undefined) return unreachable();
  try {
    return (await ctx.services.agentApi.messages(base)).map(entryOf);
  } catch (error) {
    if (error instanceof AgentUnreachable) return unreachable(error);
    throw error;
  }
}
