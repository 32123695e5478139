import { type InferResult, sql, type SqlBool } from "kysely";
import { authorizeMachine } from "../authorization/authorization.js";
import { auditedAs } from "../kernel/audit.js";
import type { Context } from "../kernel/context.js";
import { badInput, conflict, DomainError, notFound } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { now } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import { type Watch, watching } from "../kernel/watching.js";
import { inputOf, type Input, required, string } from "../kernel/values.js";
import type { Db } from "../../infrastructure/database/database.js";
import { AgentRejection, AgentUnreachable } from "../../infrastructure/agent-api.js";
import { type ConversationRow, conversationsByTask, isOpenRequest, messagesRequesting } from "./conversation.js";
import { appPlace } from "./input-delivery.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { findTaskFor, requireActive, TaskReference, type TaskRow } from "./tasks.js";

const x = columnsOf("taskActions", "x");

/** The kind of an action that a user wants from the program of a task. */
export const TaskActionKind = { DECISION: "decision", INTERRUPT: "interrupt", INPUT: "input" } as const;
export type TaskActionKind = (typeof TaskActionKind)[keyof typeof TaskActionKind];

/** Maximum number of actions of a task that its agent has not carried out yet. */
const mostOpen = 20;

const openActions = (db: Db, taskId: string) =>
  db
    .selectFrom("taskActions as x")
    .leftJoin("taskMessages as m", (join) =>
      join
        .on("x.kind", "=", "input")
        .on(sql<SqlBool>`m.id::text = ${x.requestId}`)
        .onRef("m.taskId", "=", "x.taskId"),
    )
    .select(["x.id", "x.taskId", "x.kind", "x.requestId", "x.optionId"])
    .select((eb) => eb.fn.coalesce("m.content", sql<string>`''`).as("text"))
    .where("x.taskId", "=", taskId)
    .where("x.finishedAt", "is", null)
    .orderBy("x.id");

/** An action that an agent is to carry out. */
export type TaskActionRow = InferResult<ReturnType<typeof openActions>>[number];

/** The hint that there is an action for the agent of a task. */
const actionHint = (taskId: string) => ({ topic: "tasks", id: `a:${taskId}` }) as const;

export const DecideTaskPermission = inputOf({
  ...TaskReference.shape,
  requestId: required(string, "The request."),
  optionId: required(string, "ID of the chosen option."),
});
export type DecideTaskPermission = Input<typeof DecideTaskPermission>;

/**
 * Decides a request for a permission of the program of an active task. Returns the id of the task. Throws NOT_FOUND for an
 * unknown request, CONFLICT if it is decided or closed already; of decisions at the same time, the first one counts.
 */
export async function decideTaskPermission(
  ctx: Context,
  { requestId, optionId, ...reference }: DecideTaskPermission,
): Promise<string> {
  const task = await findTaskFor(ctx, reference, "workspace:application_connect");
  requireActive(task);
  const { buildNumber } = await lockedConversation(ctx, task);
  const asking = await messagesRequesting(ctx, task.id, requestId).execute();
  const requests = asking.flatMap(({ parts }) => parts).filter((part) => part.kind === "permission");
  const request = requests.find((each) => each.requestId === requestId);
  if (!request) throw notFound();
  if (!isOpenRequest(request)) throw conflict("The request is decided or was canceled.");
  const option = request.options.find(({ id }) => id === optionId);
  if (!option) throw badInput([{ field: "optionId", detail: "Must be the ID of an option of the request." }]);
  await requireRoom(ctx, task.id);
  const added = await ctx.db
    .insertInto("taskActions")
    .values({ id: newId(), taskId: task.id, buildNumber, kind: "decision", requestId, optionId, createdAt: now })
    .onConflict((existing) => existing.doNothing())
    .returning("id")
    .executeTakeFirst();
  if (!added) throw conflict("The request is decided or was canceled.");
  ctx.audit({
    action: option.kind.startsWith("allow") ? "authorize" : "deny",
    ...auditedAs("task", task.id, task.name, task.organizationId),
    diff: { permission: { new: option.kind } },
  });
  ctx.publish(actionHint(task.id));
  return task.id;
}

/**
 * Interrupts the current turn of the program of an active task. Returns the id of the task. A program that speaks ACP is
 * told by its agent; one that speaks AgentAPI gets the Escape key, and UNAVAILABLE is thrown if it cannot be reached.
 */
export async function interruptTask(ctx: Context, reference: TaskReference): Promise<string> {
  const task = await findTaskFor(ctx, reference, "workspace:application_connect");
  requireActive(task);
  const [found] = await conversationsByTask(ctx, [task.id]);
  if (found?.protocol === "acp") {
    const { buildNumber, state } = await lockedConversation(ctx, task);
    if (state !== "working" && state !== "requires_action") throw conflict("The program of the task does not work.");
    await requireRoom(ctx, task.id);
    await ctx.db
      .insertInto("taskActions")
      .values({ id: newId(), taskId: task.id, buildNumber, kind: "interrupt", createdAt: now })
      .execute();
    ctx.publish(actionHint(task.id));
  } else await pressEscape(ctx, task);
  ctx.audit({
    action: "update",
    ...auditedAs("task", task.id, task.name, task.organizationId),
    diff: { interrupt: { new: true } },
  });
  return task.id;
}

async function pressEscape({ services }: Context, task: TaskRow): Promise<void> {
  const place = await appPlace(services, task);
  try {
    if (place === undefined) throw new AgentUnreachable("The app has no URL.", false);
    await services.agentApi.pressKey(place, "\u001b");
  } catch (error) {
    if (error instanceof AgentRejection || error instanceof AgentUnreachable)
      throw new DomainError("UNAVAILABLE", "Failed to reach the task app.", { upstream: true, cause: error });
    throw error;
  }
}

/** Locks the conversation of a task, so that its requests do not change meanwhile. */
async function lockedConversation(
  { db }: Context,
  { id }: TaskRow,
): Promise<Pick<ConversationRow, "buildNumber" | "state">> {
  const conversation = await db
    .selectFrom("taskConversations")
    .select(["buildNumber", "state"])
    .where("taskId", "=", id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!conversation) throw notFound();
  return conversation;
}

/**
 * Locks the conversation of a task whose agent takes inputs. Returns it if the program waits for an input, and none is on
 * its way.
 */
export async function idleConversation(
  { db }: Context,
  taskId: string,
): Promise<Pick<ConversationRow, "taskId" | "buildNumber"> | undefined> {
  const conversation = await db
    .selectFrom("taskConversations")
    .select(["taskId", "buildNumber", "state", "takesInputs"])
    .where("taskId", "=", taskId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!conversation?.takesInputs || conversation.state !== "idle") return undefined;
  const open = await db
    .selectFrom("taskActions")
    .select("id")
    .where("taskId", "=", taskId)
    .where("kind", "=", "input")
    .where("finishedAt", "is", null)
    .limit(1)
    .executeTakeFirst();
  return open ? undefined : conversation;
}

/** Lets the agent of a task take an input that is in delivery. To be called in the transaction that begins it. */
export async function requestInput(
  ctx: Context,
  { taskId, buildNumber }: Pick<ConversationRow, "taskId" | "buildNumber">,
  inputId: string,
): Promise<void> {
  await ctx.db
    .insertInto("taskActions")
    .values({ id: newId(), taskId, buildNumber, kind: "input", requestId: inputId, createdAt: now })
    .execute();
  ctx.publish(actionHint(taskId));
}

async function requireRoom({ db }: Context, taskId: string): Promise<void> {
  const { open } = await db
    .selectFrom("taskActions")
    .select(({ fn }) => fn.countAll<number>().as("open"))
    .where("taskId", "=", taskId)
    .where("finishedAt", "is", null)
    .executeTakeFirstOrThrow();
  if (open >= mostOpen) throw conflict(`The agent of the task has ${mostOpen} actions to carry out already.`);
}

/**
 * Streams the actions that the calling agent is to carry out for the task of its workspace: first those that are open, then
 * each new one. An agent that connects again gets those once more that it has not reported as finished.
 */
export function watchTaskActions(ctx: Context, { taskId }: { taskId: string }): Promise<Watch<TaskActionRow>> {
  const sent = new Set<string>();
  return watching(ctx, {
    while: (fresh) => taskOfCaller(fresh, taskId),
    hints: (id) => [actionHint(id)],
    async read(fresh, id) {
      const open = await openActions(fresh.db, id).limit(mostOpen).execute();
      const events = open.filter((action) => !sent.has(action.id));
      sent.clear();
      for (const action of open) sent.add(action.id);
      return { events };
    },
    period: 5,
  });
}

async function taskOfCaller(ctx: Context, taskId: string): Promise<string | undefined> {
  const agent = authorizeMachine(ctx.actor, "task_snapshot:upload");
  const task = await ctx.db
    .selectFrom("tasks")
    .select("id")
    .where("id", "=", taskId)
    .where("workspaceId", "=", agent.workspaceId)
    .where("deletedAt", "is", null)
    .executeTakeFirst();
  return task?.id;
}

/** Deletes actions a day after they were requested. */
export const actionPurge = purge("task_actions", { by: "created_at", keptFor: day });
