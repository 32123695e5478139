import { type InferResult, sql } from "kysely";
import type { ConversationPart } from "../../entities/tasks.js";
import type { Db } from "../../infrastructure/database/database.js";
import type { Context } from "../kernel/context.js";
import { defineListOfEach, integer } from "../kernel/lists.js";
import type { Page, PageArguments } from "../kernel/paging.js";
import { anyOf } from "../kernel/queries.js";
import { type Batch, type Watch, watching } from "../kernel/watching.js";
import { accessHints } from "../workspaces/workspaces.js";
import { taskHint } from "./task-status.js";
import { findTaskFor, type TaskRow, tasksById } from "./tasks.js";

export type { ConversationPart };

/** The protocol by which the program of a task is spoken to. */
export const TaskProtocol = { AGENTAPI: "agentapi", ACP: "acp" } as const;
export type TaskProtocol = (typeof TaskProtocol)[keyof typeof TaskProtocol];

/** The state of the program of a task, as its protocol says. */
export const ConversationState = {
  WORKING: "working",
  IDLE: "idle",
  REQUIRES_ACTION: "requires_action",
  ERROR: "error",
} as const;
export type ConversationState = (typeof ConversationState)[keyof typeof ConversationState];

/** Who wrote a message. */
export const ConversationRole = { USER: "user", AGENT: "agent" } as const;
export type ConversationRole = (typeof ConversationRole)[keyof typeof ConversationRole];

/** The status of the call of a tool. */
export const ToolCallStatus = {
  PENDING: "pending",
  IN_PROGRESS: "in_progress",
  COMPLETED: "completed",
  FAILED: "failed",
} as const;

/** The kind of an option of a request. */
export const PermissionOptionKind = {
  ALLOW_ONCE: "allow_once",
  ALLOW_ALWAYS: "allow_always",
  REJECT_ONCE: "reject_once",
  REJECT_ALWAYS: "reject_always",
} as const;

/** Limits of a conversation. The oldest messages are left out. */
export const conversationLimits = {
  messages: 1000,
  bytes: 4 * 1024 * 1024,
  /** JSON of the parts of a message, and their number. */
  messageBytes: 64 * 1024,
  parts: 100,
} as const;

/** Conversations with all that is read of them, by named columns: a later release may add others. */
export const conversations = (db: Db) =>
  db
    .selectFrom("taskConversations as c")
    .select(["c.taskId", "c.buildNumber", "c.protocol", "c.isReported", "c.state", "c.stateMessage"])
    .select([
      "c.sessionId",
      "c.omitted",
      "c.revision",
      "c.takesInputs",
      "c.sessionMode",
      "c.asksNobody",
      "c.updatedAt",
    ]);

/** The conversation of a task: what holds for all of its messages. */
export type ConversationRow = InferResult<ReturnType<typeof conversations>>[number];

const messages = (db: Db) =>
  db
    .selectFrom("taskConversationMessages as m")
    .select([
      "m.id",
      "m.taskId",
      "m.seq",
      "m.buildNumber",
      "m.role",
      "m.senderId",
      "m.parts",
      "m.isCut",
      "m.revision",
      "m.writtenAt",
    ]);

/** A message of a conversation. */
export type ConversationMessageRow = InferResult<ReturnType<typeof messages>>[number];

/** Batch read of the conversations of tasks, for `ctx.load`. Checks no permission: the task does. */
export async function conversationsByTask(
  { db }: Context,
  taskIds: readonly string[],
): Promise<Array<ConversationRow | undefined>> {
  const rows = await conversations(db).where("c.taskId", "=", anyOf(taskIds)).execute();
  const found = new Map(rows.map((row) => [row.taskId, row]));
  return taskIds.map((id) => found.get(id));
}

/** The state of a program, if it may still run: that of an earlier start, or of one that is not up, is not known. */
export async function stateOf(ctx: Context, { taskId, state }: ConversationRow): Promise<ConversationState | null> {
  const task = await ctx.load(tasksById, taskId);
  const isUp = task?.status === "active" || task?.status === "unknown";
  return isUp || (task?.status === "error" && state === "error") ? state : null;
}

const messageList = defineListOfEach((ctx, task) => messages(ctx.db).where("m.taskId", "=", task), {
  id: { column: "m.id", of: ({ id }) => id },
  orders: { seq: { seq: integer("m.seq") } }, // task_conversation_messages_seq_unique
  filters: {},
});

/** Lists the messages of a conversation in their order. Checks no permission: the task does. */
export const listMessages = (
  ctx: Context,
  { taskId }: ConversationRow,
  page: PageArguments,
): Promise<Page<ConversationMessageRow>> => messageList.pageOf(ctx, taskId, { page });

/** Batch read of all messages of the conversations of tasks, in their order, for `ctx.load`. */
export async function messagesByTask({ db }: Context, taskIds: readonly string[]): Promise<ConversationMessageRow[][]> {
  const rows = await messages(db)
    .where("m.taskId", "=", anyOf(taskIds))
    .orderBy("m.taskId")
    .orderBy("m.seq")
    .orderBy("m.id")
    .execute();
  const found = Map.groupBy(rows, ({ taskId }) => taskId);
  return taskIds.map((id) => found.get(id) ?? []);
}

/** The text of a message as AgentAPI has it: texts, and titles in brackets. Results of tools have none. */
export const plainText = (parts: readonly ConversationPart[]): string =>
  parts.map(plainPart).filter(Boolean).join("\n\n");

function plainPart(part: ConversationPart): string {
  if (part.kind === "text") return part.text;
  if (part.kind === "tool_call") return `[${part.title}]`;
  if (part.kind === "permission") return `[Permission: ${part.title}]`;
  return part.kind === "interrupt" ? `[${part.text}]` : "";
}

/** A change of a conversation: its state, and the messages that are new or different since the previous change. */
export interface ConversationChange {
  conversation: ConversationRow;
  messages: ConversationMessageRow[];
}

export interface WatchConversation {
  id: string;
  /** The revision of the last change that was received. Default: only later changes are sent. */
  since?: number | null;
}

/** Milliseconds for which changes are collected, and the number of messages of a change. */
const batchDelay = 100;
const mostChanged = 50;

/**
 * Streams the changes of the conversation of a task: first its state, with the messages that changed after `since`, and
 * then each change, until the task is deleted. For callers who may connect to the apps of its workspace. A rejected
 * watch throws before this resolves.
 */
export function watchConversation(ctx: Context, { id, since }: WatchConversation): Promise<Watch<ConversationChange>> {
  let cursor = since == null ? undefined : { revision: since, seq: 2 ** 31 - 1 };
  let seen: string | undefined;
  const read = async (fresh: Context, task: TaskRow): Promise<Batch<ConversationChange>> => {
    const [conversation] = await conversationsByTask(fresh, [task.id]);
    if (!conversation) return { events: [] };
    const whole = { revision: conversation.revision, seq: 2 ** 31 - 1 };
    cursor ??= whole;
    const found = await messages(fresh.db)
      .where("m.taskId", "=", task.id)
      .where(sql<boolean>`(m.revision, m.seq) > (${cursor.revision}::integer, ${cursor.seq}::integer)`)
      .orderBy("m.revision")
      .orderBy("m.seq")
      .limit(mostChanged + 1)
      .execute();
    const changed = found.slice(0, mostChanged);
    const isMore = found.length > mostChanged;
    const last = changed.at(-1);
    cursor = isMore ? { revision: last!.revision, seq: last!.seq } : whole;
    const { revision: _, updatedAt: __, ...visible } = conversation;
    const print = JSON.stringify([visible, await stateOf(fresh, conversation)]);
    if (changed.length === 0 && print === seen) return { events: [] };
    seen = print;
    // A client resumes after a revision whose messages it has completely.
    const revision = isMore ? last!.revision - 1 : conversation.revision;
    return { events: [{ conversation: { ...conversation, revision }, messages: changed }], isMore };
  };
  return watching(ctx, {
    while: (fresh) => findTaskFor(fresh, { task: id }, "workspace:application_connect"),
    hints: (task) => [taskHint(task.id), conversationHint(task.id), ...accessHints(ctx, task.workspaceId)],
    read,
    batchDelay,
  });
}

/** The hint that the conversation of a task changed. */
export const conversationHint = (taskId: string) => ({ topic: "tasks", id: `c:${taskId}` }) as const;

/** Whether a part is a request for a permission that no user has decided yet. */
export const isOpenRequest = (part: ConversationPart): part is Extract<ConversationPart, { kind: "permission" }> =>
  part.kind === "permission" && part.optionId === null && !part.isCanceled;

/** Selects the messages of a task that request a permission. */
export const messagesRequesting = ({ db }: Context, taskId: string, requestId?: string) =>
  messages(db)
    .where("m.taskId", "=", taskId)
    .where(
      sql<boolean>`m.parts @> ${JSON.stringify([{ kind: "permission", ...(requestId !== undefined && { requestId }) }])}::jsonb`,
    );
