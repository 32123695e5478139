import { sql } from "kysely";
import type { AgentActor } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { cleanLabel, isStorable } from "../../runtime/text.js";
import { now } from "../kernel/queries.js";
import { announceTaskError } from "../tasks/task-errors.js";
import { updateTaskStatus } from "../tasks/task-status.js";
import { appStatusReported } from "../tasks/workspace-events.js";
import { noteActivity } from "../workspaces/deadlines.js";
import { workspaceHint } from "../workspaces/workspaces.js";
import { AppHealth } from "./agent-apps.js";
import { callingAgent, publishChange, taskOfAgent } from "./caller.js";
import {
  check,
  choice,
  inputOf,
  type Input,
  list,
  meant,
  optional,
  required,
  string,
  textBy,
} from "../kernel/values.js";
import { longestStatusMessage } from "../../entities/agents.js";
import { longestUrl } from "../../entities/lengths.js";

/** Maximum number of apps of an agent. */
const mostApps = 50;

export const ReportedAppHealth = inputOf({
  slug: required(string, "Slug of the app."),
  health: required(choice(AppHealth), "Its health; not DISABLED. Ignored for apps without a health check."),
});
export type ReportedAppHealth = Input<typeof ReportedAppHealth>;

export const ReportAppHealth = inputOf({
  apps: required(list(mostApps, ReportedAppHealth, "apps"), "The apps, {limits}."),
});
export type ReportAppHealth = Input<typeof ReportAppHealth>;

/** Records the health of apps of the calling agent. Apps without a health check remain `disabled`. */
export async function reportAppHealth(ctx: Context, { apps }: ReportAppHealth): Promise<string> {
  const agent = callingAgent(ctx);
  const problems = new Problems();
  check(ReportAppHealth, { apps }, problems);
  problems.throwIfAny();
  const own = await appsOfCaller(ctx, agent).orderBy("app.slug").execute();
  const given = new Map<string, AppHealth>();
  for (const [index, { slug, health }] of apps.entries()) {
    const isOwn = own.some((app) => app.slug === slug);
    const problem = given.has(slug) ? "Must not be given twice." : isOwn ? undefined : slugRule;
    problems.add(`apps[${index}].slug`, problem);
    problems.add(`apps[${index}].health`, health === "disabled" ? "Cannot be reported." : undefined);
    given.set(slug, health);
  }
  problems.throwIfAny();
  const reported = sql<{ slug: string; health: AppHealth }>`
    unnest(${[...given.keys()]}::text[], ${[...given.values()]}::text[])`.as<"given">(sql`given (slug, health)`);
  const { numUpdatedRows } = await ctx.db
    .updateTable("workspaceApps as app")
    .from(reported)
    .set((eb) => ({ health: eb.ref("given.health"), updatedAt: now }))
    .where("app.agentId", "=", agent.id)
    .whereRef("app.slug", "=", "given.slug")
    .where("app.health", "<>", "disabled")
    .whereRef("app.health", "<>", "given.health")
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return agent.id;
  const { taskId } = own[0]!;
  const status = await updateTaskStatus(ctx, taskId);
  publishChange(ctx, agent, taskId);
  if (status === "error") await announceTaskError(ctx, taskId!);
  return agent.id;
}

/** Locks apps of the calling agent. */
const appsOfCaller = ({ db }: Context, { id }: AgentActor) =>
  db
    .selectFrom("workspaceApps as app")
    .innerJoin("workspaceAgents as a", "a.id", "app.agentId")
    .select(["app.id", "app.slug", "a.lifecycle", taskOfAgent.as("taskId")])
    .where("app.agentId", "=", id)
    .forNoKeyUpdate("app");

const slugRule = "Must be the slug of an app of the agent.";

/** The states of apps as programs report them. */
export const ReportedAppState = { WORKING: "working", IDLE: "idle", COMPLETE: "complete", FAILURE: "failed" } as const;

const messageProblem = (text: string): string | undefined =>
  Buffer.byteLength(text) <= longestStatusMessage && isStorable(text)
    ? undefined
    : `Must be at most ${longestStatusMessage} bytes of valid Unicode without NUL characters.`;

function uriProblem(text: string): string | undefined {
  if (text === "") return undefined;
  const url = Buffer.byteLength(text) <= longestUrl && isStorable(text) ? URL.parse(text) : null;
  const isAllowed = url !== null && ["http:", "https:", "file:"].includes(url.protocol) && url.username === "";
  return isAllowed ? undefined : `Must be an http, https or file URI of at most ${longestUrl} bytes without user info.`;
}

const statusMessage = meant(textBy(messageProblem, { maxLength: longestStatusMessage }), {
  limits: `at most ${longestStatusMessage} bytes`,
});
const statusUri = meant(textBy(uriProblem, { maxLength: longestUrl }), { limits: `at most ${longestUrl} bytes` });

/** A report of a program about its work in an app. */
export const AppStatusReport = inputOf({
  appSlug: required(string, "Slug of an app of the agent."),
  state: required(choice(ReportedAppState), "The state of the program."),
  message: required(statusMessage, "Message for people, {limits}; may be empty."),
  uri: optional(statusUri, "URI of what the message is about: http, https or file, {limits}. Default: none."),
});
export type AppStatusReport = Input<typeof AppStatusReport>;

/** Number of statuses that are kept of each app. */
const mostStatuses = 100;

/**
 * Records a status of an app of the calling agent, and returns the id of the agent. Work moves the deadline of the
 * workspace.
 */
export async function reportAppStatus(ctx: Context, report: AppStatusReport): Promise<string> {
  const agent = callingAgent(ctx);
  const { appSlug, state } = report;
  const message = cleanLabel(report.message, report.message.length);
  const uri = report.uri ?? "";
  const app = await appsOfCaller(ctx, agent).where("app.slug", "=", appSlug).executeTakeFirst();
  const problems = new Problems();
  problems.add("appSlug", app ? undefined : slugRule);
  check(AppStatusReport, report, problems);
  problems.throwIfAny();

  const { id: appId, lifecycle, taskId } = app!;
  const newestFirst = ctx.db
    .selectFrom("workspaceAppStatuses")
    .where("appId", "=", appId)
    .orderBy("createdAt", "desc")
    .orderBy("id", "desc");
  const former = await newestFirst.select("state").limit(1).executeTakeFirst();
  const before = former?.state ?? null;
  await ctx.db
    .deleteFrom("workspaceAppStatuses")
    .where("id", "in", newestFirst.select("id").offset(mostStatuses - 1))
    .execute();
  // The time of the statement: that of the transaction precedes the wait for the lock.
  const createdAt = sql<string>`clock_timestamp()`;
  const status = {
    id: newId(),
    createdAt,
    workspaceId: agent.workspaceId,
    agentId: agent.id,
    appId,
    state,
    message,
    uri,
  };
  await ctx.db.insertInto("workspaceAppStatuses").values(status).execute();
  if (state === "working" || before === "working") await noteActivity(ctx, [agent.workspaceId]);
  ctx.publish(workspaceHint(agent.workspaceId));
  if (taskId === null) return agent.id;
  await appStatusReported(ctx, { taskId, appId, lifecycle, before, state });
  // A program that is known to be unhealthy may say why only now.
  if (state === "failed") await announceTaskError(ctx, taskId);
  return agent.id;
}
