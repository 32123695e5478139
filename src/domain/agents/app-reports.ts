import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { badInput, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { isStorable } from "../kernel/text.js";
import { appStatusReported } from "../tasks/app-statuses.js";
import { updateTaskStatus } from "../tasks/status.js";
import { noteActivity } from "../workspaces/deadlines.js";
import { workspaceHint } from "../workspaces/workspaces.js";
import type { AgentLifecycle } from "./agents.js";
import type { AppHealth, AppState } from "./apps.js";
import { callingAgent, publishChange, taskOfAgent } from "./changes.js";

/** The health of apps by their slugs. */
export type ReportedHealth = ReadonlyArray<{ slug: string; health: AppHealth }>;

/** Maximum number of apps of an agent. */
const mostApps = 50;

const lockApps = statement<{ slug: string; taskId: string | null }>(`
  select app.slug, ${taskOfAgent} as "taskId" from workspace_apps app join workspace_agents a on a.id = app.agent_id
  where app.agent_id = $1 order by app.slug for no key update of app`);

const storeHealth = statement<{ id: string }>(`
  update workspace_apps app set health = given.health, updated_at = now()
  from unnest($2::text[], $3::text[]) given (slug, health)
  where app.agent_id = $1 and app.slug = given.slug and app.healthcheck_url <> '' and app.health <> given.health
  returning app.id`);

/** Records the health of apps of the calling agent. Apps without a health check remain `disabled`. */
export async function reportAppHealth(ctx: Context, apps: ReportedHealth): Promise<string> {
  const agent = callingAgent(ctx);
  if (apps.length > mostApps) throw badInput([{ field: "apps", detail: `Must be at most ${mostApps} apps.` }]);
  const own = await ctx.rows(lockApps, agent.id);
  const given = new Map<string, AppHealth>();
  const problems = new Problems();
  for (const [index, { slug, health }] of apps.entries()) {
    const isOwn = own.some((app) => app.slug === slug);
    const problem = given.has(slug) ? "Must not be given twice." : isOwn ? undefined : slugRule;
    problems.add(`apps[${index}].slug`, problem);
    problems.add(`apps[${index}].health`, health === "disabled" ? "Cannot be reported." : undefined);
    given.set(slug, health);
  }
  problems.throwIfAny();
  const changed = await ctx.rows(storeHealth, agent.id, [...given.keys()], [...given.values()]);
  if (changed.length === 0) return agent.id;
  const { taskId } = own[0]!;
  await updateTaskStatus(ctx, taskId);
  publishChange(ctx, agent, taskId);
  return agent.id;
}

const slugRule = "Must be the slug of an app of the agent.";

/** What a program reports about its work in an app. */
export interface AppStatusReport {
  appSlug: string;
  state: AppState;
  message: string;
  /** Default: none. */
  uri?: string | null;
}

/** Number of statuses that are kept of each app. */
const mostStatuses = 100;

interface ReportingApp {
  appId: string;
  lifecycle: AgentLifecycle;
  taskId: string | null;
  /** Null before the first report. */
  before: AppState | null;
}

const lockApp = statement<ReportingApp>(`
  select app.id as "appId", a.lifecycle, ${taskOfAgent} as "taskId"
  from workspace_apps app join workspace_agents a on a.id = app.agent_id
  where app.agent_id = $1 and app.slug = $2 for no key update of app`);

const stateOfApp = statement<{ state: AppState }>(`
  select state from workspace_app_statuses where app_id = $1 order by created_at desc, id desc limit 1`);

// The time of the statement: that of the transaction precedes the wait for the lock.
const insertStatus = statement(`
  with outdated as (
    delete from workspace_app_statuses where id in (
      select id from workspace_app_statuses where app_id = $4
      order by created_at desc, id desc offset ${mostStatuses - 1}
    )
  )
  insert into workspace_app_statuses (id, created_at, workspace_id, agent_id, app_id, state, message, uri)
  values ($1, clock_timestamp(), $2, $3, $4, $5, $6, $7)`);

/** Records a status of an app of the calling agent. Work moves the deadline of the workspace. */
export async function reportAppStatus(ctx: Context, report: AppStatusReport): Promise<AppStatusOfAgent> {
  const agent = callingAgent(ctx);
  const { appSlug, state, message } = report;
  const uri = report.uri ?? "";
  const app = await ctx.row(lockApp, agent.id, appSlug);
  const problems = new Problems();
  problems.add("appSlug", app ? undefined : slugRule);
  problems.add("message", messageProblem(message));
  problems.add("uri", uriProblem(uri));
  problems.throwIfAny();

  const { appId, lifecycle, taskId } = app!;
  const before = (await ctx.row(stateOfApp, appId))?.state ?? null;
  const id = newId();
  await ctx.row(insertStatus, id, agent.workspaceId, agent.id, appId, state, message, uri);
  if (state === "working" || before === "working") await noteActivity(ctx, [agent.workspaceId]);
  ctx.publish(workspaceHint(agent.workspaceId));
  if (taskId !== null) await appStatusReported(ctx, { taskId, appId, lifecycle, before, state });
  return { agentId: agent.id, appId };
}

/** The ids that the payload of a report reads. */
export interface AppStatusOfAgent {
  agentId: string;
  appId: string;
}

const messageProblem = (text: string): string | undefined =>
  Buffer.byteLength(text) <= 160 && isStorable(text)
    ? undefined
    : "Must be at most 160 bytes of valid Unicode without NUL characters.";

function uriProblem(text: string): string | undefined {
  if (text === "") return undefined;
  const url = Buffer.byteLength(text) <= 2048 && isStorable(text) ? URL.parse(text) : null;
  const isAllowed = url !== null && ["http:", "https:", "file:"].includes(url.protocol) && url.username === "";
  return isAllowed ? undefined : "Must be an http, https or file URI of at most 2048 bytes without user info.";
}
