import type { InferResult } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { anyOf, rowsByKey } from "../kernel/queries.js";
import type { Context } from "../kernel/context.js";
import { badInput } from "../kernel/errors.js";
import { workspaceHint } from "../workspaces/workspaces.js";
import type { AgentRow } from "./agents.js";
import { callingAgent } from "./caller.js";
import { anyInt, choice, dateTime, inputOf, optional, required, type Input, uuid } from "../kernel/values.js";

/** How the last run of a script ended. */
export const ScriptStatus = {
  OK: "ok",
  EXIT_FAILURE: "exit_failure",
  TIMED_OUT: "timed_out",
  PIPES_LEFT_OPEN: "pipes_left_open",
} as const;
export type ScriptStatus = (typeof ScriptStatus)[keyof typeof ScriptStatus];

const scripts = (db: Db) =>
  db
    .selectFrom("workspaceScripts")
    .select([
      "id",
      "createdAt",
      "agentId",
      "displayName",
      "script",
      "cron",
      "logPath",
      "logSourceId",
      "runOnStart",
      "runOnStop",
      "startBlocksLogin",
      "timeout",
      "exitCode",
      "status",
      "startedAt",
      "endedAt",
    ])
    .orderBy("agentId")
    .orderBy("position");

/** A script that an agent runs, with the result of its last run. */
export type ScriptRow = InferResult<ReturnType<typeof scripts>>[number];

/** Batch read of the scripts of agents, for `ctx.load`. Checks no permission: the agent does. */
export async function scriptsByAgent({ db }: Context, ids: readonly string[]): Promise<ScriptRow[][]> {
  const found = await scripts(db).where("agentId", "=", anyOf(ids)).execute();
  return rowsByKey(found, ids, ({ agentId }) => agentId);
}

/** A writer to the log of an agent: the agent itself, or one of its scripts. */
export interface LogSource {
  id: string;
  createdAt: string;
  agentId: string;
  displayName: string;
  /** URL; empty without one. */
  icon: string;
}

/** Returns the sources of the log of an agent, the agent itself first. */
export async function logSourcesOf(ctx: Context, agent: AgentRow): Promise<LogSource[]> {
  const { id, createdAt, logSourceId } = agent;
  const own = await ctx.load(scriptsByAgent, id);
  return [
    { id: logSourceId, createdAt, agentId: id, displayName: "Agent", icon: "" },
    ...own.map((script) => ({ ...script, id: script.logSourceId, icon: "" })),
  ];
}

/** The result of a run of a script. Times are RFC 3339. */
export const ScriptResult = inputOf({
  scriptId: required(uuid, "ID of a script of the agent."),
  exitCode: required(anyInt, "Exit code of the script."),
  status: required(choice(ScriptStatus), "How the run ended."),
  startedAt: optional(dateTime, "When the run began."),
  endedAt: optional(dateTime, "When the run ended."),
});
export type ScriptResult = Input<typeof ScriptResult>;

/** Records the result of a script of the calling agent, in place of that of the last run. */
export async function reportScriptResult(ctx: Context, result: ScriptResult): Promise<string> {
  const agent = callingAgent(ctx);
  const { scriptId, exitCode, status, startedAt = null, endedAt = null } = result;
  const { numUpdatedRows } = await ctx.db
    .updateTable("workspaceScripts")
    .set({ exitCode, status, startedAt, endedAt })
    .where("id", "=", scriptId)
    .where("agentId", "=", agent.id)
    .executeTakeFirst();
  if (numUpdatedRows === 0n)
    throw badInput([{ field: "scriptId", detail: "Must be the id of a script of the agent." }]);
  ctx.publish(workspaceHint(agent.workspaceId));
  return agent.id;
}
