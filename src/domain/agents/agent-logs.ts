import type { Expression, InferResult } from "kysely";
import type { AgentActor } from "../kernel/actor.js";
import { insertAll } from "../kernel/queries.js";
import type { Context } from "../kernel/context.js";
import { badInput, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { defineLogs, type LogArguments } from "../log-lines.js";
import type { Page } from "../kernel/paging.js";
import type { Watch } from "../kernel/watching.js";
import { accessHints } from "../workspaces/workspaces.js";
import { readAgent } from "./agent-access.js";
import { agentLogHint, type AgentRow } from "./agents.js";
import { callingAgent, existing } from "./caller.js";
import {
  check,
  choice,
  dateTime,
  inputOf,
  required,
  string,
  type Input,
  list,
  optional,
  uuid,
} from "../kernel/values.js";

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

export const AgentLogLine = inputOf({
  createdAt: required(dateTime, "When it was written."),
  level: required(choice(AgentLogLevel), "Importance of the line."),
  output: required(string, "Text of the line; a text of more than 4 KiB is cut and gets a mark."),
});
export type AgentLogLine = Input<typeof AgentLogLine>;

/** Lines that an agent appends to its log. */
export const AppendAgentLogs = inputOf({
  logSourceId: optional(uuid, "ID of a log source of the agent. Default: the agent itself."),
  logs: required(list(mostLines, AgentLogLine, "lines"), "The lines in their order, {limits}."),
});
export type AppendAgentLogs = Input<typeof AppendAgentLogs>;

/**
 * Appends lines to the log of the calling agent. Longer lines are cut to 4 KiB, with a mark. Once the log has 1 MiB, further lines are
 * dropped. Returns whether any were.
 */
export async function appendAgentLogs(ctx: Context, input: AppendAgentLogs): Promise<boolean> {
  const agent = callingAgent(ctx);
  const problems = new Problems();
  check(AppendAgentLogs, input, problems);
  problems.throwIfAny();
  const { logSourceId = null, logs } = input;
  const log = await ctx.db
    .selectFrom("workspaceAgents")
    .select(["logSequence", "logsLength", "logsOverflowed", "logSourceId"])
    .where("id", "=", agent.id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  const { logSequence: sequence, logsLength: length, logsOverflowed: overflowed, logSourceId: own } = existing(log);
  const sourceId = logSourceId ?? own;
  if (sourceId.toLowerCase() !== own) await requireSource(ctx, agent, sourceId);
  if (overflowed || logs.length === 0) return overflowed;

  const outputs = logs.map(({ output }) => cutLine(output));
  const lengths = runningLengths(length, outputs);
  const fitting = lengths.filter((total) => total <= budget).length;
  const isFull = fitting < logs.length;
  const added = logs.slice(0, fitting).map(({ createdAt, level }, nr) => ({
    agentId: agent.id,
    sequence: sequence + nr + 1,
    id: newId(),
    createdAt,
    level,
    logSourceId: sourceId,
    output: outputs[nr]!,
  }));
  await ctx.db
    .updateTable("workspaceAgents")
    .set({
      logSequence: sequence + fitting,
      logsLength: lengths[fitting - 1] ?? length,
      logsOverflowed: isFull,
    })
    .where("id", "=", agent.id)
    .execute();
  if (added.length > 0) await insertAll(ctx.db, "workspaceAgentLogs", added).execute();
  ctx.publish(agentLogHint(agent.id));
  return isFull;
}

/** Throws BAD_USER_INPUT if an agent has no script with this source of logs. */
async function requireSource({ db }: Context, { id }: AgentActor, logSourceId: string): Promise<void> {
  const script = await db
    .selectFrom("workspaceScripts")
    .select("id")
    .where("agentId", "=", id)
    .where("logSourceId", "=", logSourceId)
    .executeTakeFirst();
  if (!script) throw badInput([{ field: "logSourceId", detail: "Must be a log source of the agent." }]);
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
