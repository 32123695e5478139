import { setTimeout as sleep } from "node:timers/promises";
import { sql, type UpdateObject } from "kysely";
import type { Schema } from "../../entities/schema.js";
import { auditedAs } from "../kernel/audit.js";
import { authorize, mayOn } from "../authorization/authorization.js";
import { requireUser, userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { badInput, conflict, DomainError, forbidden, notFound } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { after, now } from "../kernel/queries.js";
import { flag, inputOf, type Input, optional, required, uuid } from "../kernel/values.js";
import { AgentUnreachable, type AppPlace } from "../../infrastructure/agent-api.js";
import { requireBudget } from "../groups/ai-spending.js";
import { appPlace, deliver, newestOf } from "./input-delivery.js";
import { inputProblem, taskText } from "./input-text.js";
import { isUnfinished, messageById, type TaskInputState } from "./task-messages.js";
import { idleConversation, requestInput } from "./task-actions.js";
import { resumeTask } from "./task-changes.js";
import { finishInput, holdTime } from "./input-queue.js";
import { inputsHint, queueHint } from "./task-status.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { findTaskFor, isVisible, requireActive, TaskReference, type TaskRow, tasksById, taskTarget } from "./tasks.js";

const tasks = columnsOf("tasks");

export const SendTaskInput = inputOf({
  ...TaskReference.shape,
  input: required(taskText, "The text for the program. White space alone is sent, too."),
  resume: optional(
    flag,
    "Whether to resume the task if it is paused: it gets the input once it is active. Needs the permission to start the workspace, and the scope `workspace:start`. Default: false.",
  ),
});
export type SendTaskInput = Input<typeof SendTaskInput>;

/**
 * Sends an input to the program of an active task: immediately if the program waits for it, else through the queue of the
 * task. Returns the id of the input. It continues if the caller disconnects, and a request timeout does not end it.
 * Throws CONFLICT for other states and for a full queue, UNAVAILABLE if the program fails.
 *
 * The program is called outside of the transaction of the mutation. What is stored is committed before the input is
 * sent, so that a crash cannot hide a delivery.
 */
export async function sendTaskInput(ctx: Context, { input, resume, ...reference }: SendTaskInput): Promise<string> {
  const fresh = ctx.afresh();
  const task = await findTaskFor(fresh, reference, "workspace:application_connect");
  await requireBudget(fresh, task.ownerId, task.organizationId);
  requireText(ctx, input);
  if (resume && task.status === "paused") {
    await resumeTask(ctx, reference);
    return (await store(ctx, task, input, { isWaiting: false })).id;
  }
  requireActive(task);
  if (task.takesInputs) return handOver(ctx, fresh, task, input);
  const place = await appPlace(ctx.services, task);
  if (place === undefined) throw unreachable("The app has no URL.");
  ctx.beginCommit();
  const newest = await newestIfStable(ctx, place);
  const { id, isDue } = await fresh.transactional(() =>
    store(fresh, task, input, { isWaiting: newest !== undefined, newest }),
  );
  if (isDue) await sendNow(ctx, place, { id, input, newest: newest! });
  return id;
}

/** Lets the agent of a task take an input, and waits until it has. It takes it once, however long that takes. */
async function handOver(ctx: Context, fresh: Context, task: TaskRow, input: string): Promise<string> {
  ctx.beginCommit();
  const { id, isDue } = await fresh.transactional(async () => {
    const conversation = await idleConversation(fresh, task.id);
    const stored = await store(fresh, task, input, { isWaiting: conversation !== undefined });
    if (stored.isDue) await requestInput(fresh, conversation!, stored.id);
    return stored;
  });
  if (!isDue) return id;
  const state = await stateAfterDelivery(ctx, task.id, id);
  if (state === "delivered") return id;
  throw upstream("Delivery could not be confirmed.");
}

/** The state of an input when its delivery has ended; `delivering` if it has not in time. */
async function stateAfterDelivery({ services }: Context, taskId: string, id: string): Promise<TaskInputState> {
  const { database, events, config } = services;
  const { topic, id: hint } = queueHint(taskId);
  const deadline = performance.now() + config.taskAppSendTimeout;
  let wake: (() => void) | undefined;
  const hints = events.subscribe(topic, hint, () => wake?.());
  try {
    for (;;) {
      const woken = new Promise<void>((resolve) => (wake = resolve));
      const { state } = await database.db
        .selectFrom("taskMessages")
        .select("state")
        .where("id", "=", id)
        .executeTakeFirstOrThrow(notFound);
      if (state !== "delivering" || performance.now() > deadline) return state;
      await Promise.race([woken, sleep(1_000, undefined, { ref: false })]);
    }
  } finally {
    hints.close();
  }
}

function requireText(ctx: Context, input: string): void {
  const problem = input === "" ? "Must not be empty." : inputProblem(ctx, input);
  if (problem) throw badInput([{ field: "input", detail: problem }]);
}

/** The newest message of the conversation if the program waits for input; undefined while it works. */
async function newestIfStable({ services: { agentApi } }: Context, place: AppPlace): Promise<number | undefined> {
  try {
    return (await agentApi.status(place)) === "stable" ? await newestOf(agentApi, place) : undefined;
  } catch (error) {
    if (error instanceof AgentUnreachable) throw unreachable(undefined, error);
    throw error;
  }
}

const unreachable = (detail?: string, cause?: unknown) => upstream("Failed to reach the task app.", detail, cause);

const upstream = (message: string, detail?: string, cause?: unknown) =>
  new DomainError("UNAVAILABLE", message, { upstream: true, ...(detail && { detail }), cause });

interface Stored {
  id: string;
  /** Whether the input is to be sent now: the program waits, and no other input does. */
  isDue: boolean;
}

interface Program {
  /** Whether it waits for an input. */
  isWaiting: boolean;
  /** The newest message of its conversation then. */
  newest?: number;
}

/** Stores an input. Throws CONFLICT for a full queue, NOT_FOUND if the task was deleted. */
async function store(ctx: Context, task: TaskRow, input: string, { isWaiting, newest }: Program): Promise<Stored> {
  const { userId } = requireUser(ctx.actor);
  const locked = await ctx.db
    .selectFrom("tasks")
    .select(sql<boolean>`coalesce(${tasks.deliveringUntil} > now(), false)`.as("isDelivering"))
    .where("id", "=", task.id)
    .where("deletedAt", "is", null)
    // A transfer ends what others may do with the task.
    .where("ownerId", "=", task.ownerId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!locked) throw notFound();
  const { waiting } = await ctx.db
    .selectFrom("taskMessages")
    .select(({ fn }) => fn.countAll<number>().as("waiting"))
    .where("taskId", "=", task.id)
    .where(isUnfinished)
    .executeTakeFirstOrThrow();
  const isDue = isWaiting && !locked.isDelivering && waiting === 0;
  const most = ctx.config.taskQueueMax;
  if (!isDue && waiting >= most) throw conflict(`The queue of the task is full: it holds ${most} inputs.`);
  const { inputSeq: seq } = await ctx.db
    .updateTable("tasks")
    .set(({ eb }) => ({ inputSeq: eb("inputSeq", "+", 1) }))
    .where("id", "=", task.id)
    .returning("inputSeq")
    .executeTakeFirstOrThrow();
  const id = newId();
  await ctx.db
    .insertInto("taskMessages")
    .values({
      id,
      taskId: task.id,
      seq,
      senderId: userId,
      content: input,
      state: isDue ? "delivering" : "queued",
      newestBefore: isDue ? (newest ?? null) : null,
      nextAttemptAt: isDue ? after(holdTime(ctx.config)) : now,
      createdAt: now,
    })
    .execute();
  ctx.audit({ action: "create", ...auditedAs("task_input", id, task.name, task.organizationId) });
  ctx.publish(queueHint(task.id), ...(isDue ? [] : [inputsHint]));
  return { id, isDue };
}

interface DueInput {
  id: string;
  input: string;
  newest: number;
}

/** Sends an input that is stored as in delivery, and stores the outcome. Throws UNAVAILABLE unless it is delivered. */
async function sendNow({ services }: Context, place: AppPlace, { id, input, newest }: DueInput): Promise<void> {
  const outcome = await deliver(services, place, input, newest);
  const { state, detail } = { detail: "", ...outcome };
  // The input was sent, so a failure here must not look like one that permits another attempt.
  await finishInput(services, { id, state: "delivering" }, state === "unsent" ? "failed" : state, detail).catch(
    (error: unknown) => {
      throw upstream("Delivery could not be confirmed.", undefined, error);
    },
  );
  if (state === "delivered") return;
  if (state === "failed") throw upstream("The task app rejected the message.", detail);
  if (state === "unconfirmed") throw upstream("Delivery could not be confirmed.");
  throw unreachable();
}

export const EditTaskInput = inputOf({
  id: required(uuid, "ID of a queued input."),
  input: required(taskText, "The text for the program. White space alone is sent, too."),
});
export type EditTaskInput = Input<typeof EditTaskInput>;

/**
 * Replaces the text of a queued input, which keeps its place; the caller becomes its sender. For callers who may send
 * inputs, if they sent this one or may update the task. Returns its id. Throws CONFLICT if its delivery has begun, or it has
 * ended.
 */
export async function editTaskInput(ctx: Context, { id, input }: EditTaskInput): Promise<string> {
  const task = await taskOfChangeable(ctx, id);
  authorize(ctx.actor, "workspace:application_connect", taskTarget(task));
  requireText(ctx, input);
  await changeQueued(ctx, id, task, { content: input, senderId: requireUser(ctx.actor).userId });
  return id;
}

export const CancelTaskInput = inputOf({
  id: required(uuid, "ID of a queued input."),
});
export type CancelTaskInput = Input<typeof CancelTaskInput>;

/**
 * Cancels a queued input, for its sender and for callers who may update the task. Returns its id. Throws CONFLICT if its
 * delivery has begun, or it has ended.
 */
export async function cancelTaskInput(ctx: Context, id: string): Promise<string> {
  const task = await taskOfChangeable(ctx, id);
  await changeQueued(ctx, id, task, { state: "canceled", finishedAt: now });
  return id;
}

/**
 * Finds the task of an input that the caller sent, or whose task they may update. Throws NOT_FOUND for inputs of
 * unreadable tasks, FORBIDDEN for other ones.
 */
async function taskOfChangeable(ctx: Context, id: string): Promise<TaskRow> {
  // The payload reads the input after the change.
  const [message] = await messageById(ctx, [id]);
  const task = message && (await ctx.load(tasksById, message.taskId));
  if (!task || !isVisible(ctx, task)) throw notFound();
  const isSender = message.senderId === userIdOf(ctx.actor);
  if (!isSender && !mayOn(ctx.actor, "task:update", taskTarget(task))) throw forbidden();
  return task;
}

/** Changes an input and records it. Throws CONFLICT unless the input is queued. */
async function changeQueued(
  ctx: Context,
  id: string,
  task: TaskRow,
  changes: UpdateObject<Schema, "taskMessages">,
): Promise<void> {
  const changed = await ctx.db
    .updateTable("taskMessages")
    .set(changes)
    .where("id", "=", id)
    .where("state", "=", "queued")
    .returning("id")
    .executeTakeFirst();
  if (!changed) throw conflict("The input is not queued any more.");
  ctx.audit({ action: "update", ...auditedAs("task_input", id, task.name, task.organizationId) });
  ctx.publish(queueHint(task.id));
}
