import { WorkspaceScript } from "../../entities/agents.js";
import { rowsByKey } from "../kernel/batches.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { badInput } from "../kernel/errors.js";
import { workspaceHint } from "../workspaces/workspaces.js";
import type { AgentRow } from "./agents.js";
import { callingAgent } from "./changes.js";

/** How the last run of a script ended. */
export const ScriptStatus = {
  OK: "ok",
  EXIT_FAILURE: "exit_failure",
  TIMED_OUT: "timed_out",
  PIPES_LEFT_OPEN: "pipes_left_open",
} as const;
export type ScriptStatus = (typeof ScriptStatus)[keyof typeof ScriptStatus];

const columns = columnsOf(WorkspaceScript, "s", [
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
]);

/** A script that an agent runs, with the result of its last run. */
export type ScriptRow = RowOf<typeof columns>;

const scriptsOfAgents = statement<ScriptRow>(`
  select ${columns} from workspace_scripts s where s.agent_id = any($1::uuid[]) order by s.agent_id, s.position`);

/** Batch read of the scripts of agents, for `ctx.load`. Checks no permission: the agent does. */
export const scriptsByAgent = async (ctx: Context, ids: readonly string[]): Promise<ScriptRow[][]> =>
  rowsByKey(await ctx.rows(scriptsOfAgents, ids), ids, ({ agentId }) => agentId);

/** What writes to the log of an agent: the agent itself, or one of its scripts. */
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
  const scripts = await ctx.load(scriptsByAgent, id);
  return [
    { id: logSourceId, createdAt, agentId: id, displayName: "Agent", icon: "" },
    ...scripts.map((script) => ({ ...script, id: script.logSourceId, icon: "" })),
  ];
}

/** The result of a run of a script. Times are RFC 3339. */
export interface ScriptResult {
  scriptId: string;
  exitCode: number;
  status: ScriptStatus;
  startedAt?: string | null;
  endedAt?: string | null;
}

const storeResult = statement<{ id: string }>(`
  update workspace_scripts set exit_code = $3, status = $4, started_at = $5, ended_at = $6
  where id = $2 and agent_id = $1 returning id`);

/** Records the result of a script of the calling agent, in place of that of the last run. */
export async function reportScriptResult(ctx: Context, result: ScriptResult): Promise<string> {
  const agent = callingAgent(ctx);
  const { scriptId, exitCode, status, startedAt = null, endedAt = null } = result;
  const stored = await ctx.row(storeResult, agent.id, scriptId, exitCode, status, startedAt, endedAt);
  if (!stored) throw badInput([{ field: "scriptId", detail: "Must be the id of a script of the agent." }]);
  ctx.publish(workspaceHint(agent.workspaceId));
  return agent.id;
}
