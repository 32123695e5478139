import type { Expression, InferResult } from "kysely";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { badInput, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { defineLogs, type LogArguments } from "../kernel/log-lines.js";
import type { Page } from "../kernel/page.js";
import type { Watch } from "../kernel/watching.js";
import { accessHints } from "../workspaces/workspaces.js";
import { readAgent } from "./access.js";
import { agentLogHint, type AgentRow } from "./agents.js";
import { callingAgent, existing } from "./changes.js";

/** The importance of a line. */
export const AgentLogLevel = {
  TRACE: "trace",
  DEBUG: "debug",
  INFO: "info",
  WARN: "warn",
  ERROR: "error",
} as const;
export type AgentLogLevel = (typeof AgentLogLevel)[keyof typeof AgentLogLevel];

const lines = (ctx: Context, agent: Expression<string>) =>
  ctx.db
    .selectFrom("workspaceAgentLogs as l")
    .where("l.agentId", "=", agent)
    .select(["l.id", "l.sequence", "l.createdAt", "l.level", "l.logSourceId", "l.output"]);

/** A line of the log of an agent. */
export type AgentLogRow = InferResult<ReturnType<typeof lines>>[number];

/** Lines per report, bytes per line, and bytes per agent with one for the end of each line. */
const mostLines = 100;
const longestLine = 4096;
const budget = 1024 * 1024;

/** Lines that an agent appends to its log. */
export interface AppendAgentLogs {
  /** Default: the agent itself. */
  logSourceId?: string | null;
  logs: Array<Pick<AgentLogRow, "createdAt" | "level" | "output">>;
}

interface LogState {
  sequence: number;
  length: number;
  overflowed: boolean;
  /** The source to append to; null if it does not belong to the agent. */
  sourceId: string | null;
}

const lockLog = statement<LogState>(`
  select log_sequence as sequence, logs_length as length, logs_overflowed as overflowed,
    case when $2::uuid is null or $2 = log_source_id then log_source_id else (
      select s.log_source_id from workspace_scripts s where s.agent_id = a.id and s.log_source_id = $2
    ) end as "sourceId"
  from workspace_agents a where id = $1 for no key update`);

const append = statement(`
  with counted as (
    update workspace_agents set log_sequence = $2 + cardinality($6::text[]), logs_length = $3, logs_overflowed = $4
    where id = $1
  )
  insert into workspace_agent_logs (agent_id, sequence, id, created_at, level, log_source_id, output)
  select $1, $2 + place, line.id, line.created_at, line.level, $5, line.output
  from unnest($6::text[], $7::uuid[], $8::timestamptz[], $9::text[]) with ordinality
    as line (output, id, created_at, level, place)`);

/**
 * Appends lines to the log of the calling agent. Longer lines are cut to 4 KiB, with a mark. Once the log has 1 MiB, further lines are
 * dropped. Returns whether any were.
 */
export async function appendAgentLogs(ctx: Context, { logSourceId = null, logs }: AppendAgentLogs): Promise<boolean> {
  const agent = callingAgent(ctx);
  const problems = new Problems();
  problems.add("logs", logs.length > mostLines ? `Must be at most ${mostLines} lines.` : undefined);
  problems.throwIfAny();
  const { sequence, length, overflowed, sourceId } = existing(await ctx.row(lockLog, agent.id, logSourceId));
  if (sourceId === null) throw badInput([{ field: "logSourceId", detail: "Must be a log source of the agent." }]);
  if (overflowed || logs.length === 0) return overflowed;

  const outputs = logs.map(({ output }) => cutLine(output));
  const lengths = runningLengths(length, outputs);
  const fitting = lengths.filter((total) => total <= budget).length;
  const isFull = fitting < logs.length;
  const kept = logs.slice(0, fitting).map(({ createdAt, level }) => ({ id: newId(), createdAt, level }));
  await ctx.rows(
    append,
    agent.id,
    sequence,
    lengths[fitting - 1] ?? length,
    isFull,
    sourceId,
    outputs.slice(0, fitting),
    kept.map(({ id }) => id),
    kept.map(({ createdAt }) => createdAt),
    kept.map(({ level }) => level),
  );
  ctx.publish(agentLogHint(agent.id));
  return isFull;
}

/** The end of a line that was cut. */
const mark = " … [cut]";

/** Cuts a line to the limit, between characters and with a mark. */
function cutLine(output: string): string {
  const bytes = Buffer.from(output);
  if (bytes.length <= longestLine) return output;
  let end = longestLine - Buffer.byteLength(mark);
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end) + mark;
}

/** The length of the log after each line. */
function runningLengths(before: number, outputs: readonly string[]): number[] {
  let total = before;
  return outputs.map((output) => (total += Buffer.byteLength(output) + 1));
}

const agentLogs = defineLogs(lines);

/** Reads a page of the log of an agent. Checks no permission: the agent does. */
export async function logsOfAgent(
  ctx: Context,
  { id, logSequence }: AgentRow,
  args: LogArguments,
): Promise<Page<AgentLogRow>> {
  return { ...(await agentLogs.page(ctx, id, args)), count: () => Promise.resolve(logSequence) };
}

/** Streams the log of an agent, after a line if given. A rejected watch throws before this resolves. */
export const watchAgentLog = (
  ctx: Context,
  { agentId, after }: { agentId: string; after?: string | null },
): Promise<Watch<AgentLogRow>> =>
  agentLogs.watch(ctx, after, {
    while: (fresh) => readAgent(fresh, agentId),
    hints: ({ workspaceId }) => [agentLogHint(agentId), ...accessHints(ctx, workspaceId)],
  });
