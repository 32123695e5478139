import { sql } from "kysely";
import { authorizeMachine, may } from "../authorization/authorization.js";
import { anyOf, now } from "../kernel/queries.js";
import type { Context } from "../kernel/context.js";
import { badInput, DomainError, notFound, Problems } from "../kernel/errors.js";
import { isObject } from "../../runtime/json.js";
import { utcMoment } from "../../runtime/text.js";
import { relaying, type Watch } from "../kernel/watching.js";
import { check, inputOf, type Input, jsonObject, matching, required, uuid } from "../kernel/values.js";
import { type AgentMessage, AgentUnreachable } from "../../infrastructure/agent-api.js";
import { accessHints } from "../workspaces/workspaces.js";
import { appPlace } from "./input-delivery.js";
import {
  type ConversationMessageRow,
  type ConversationRow,
  conversationsByTask,
  messagesByTask,
  plainText,
  watchConversation,
} from "./conversation.js";
import { storeSnapshotMessages } from "./conversation-reports.js";
import { senderOfMessage, senderOfText } from "./senders.js";
import { taskHint } from "./task-status.js";
import { findTaskFor, notInStatus, type TaskRow, taskTarget } from "./tasks.js";

/** Who wrote an entry: a user (input), or the program (output). */
export const TaskLogType = { INPUT: "input", OUTPUT: "output" } as const;
export type TaskLogType = (typeof TaskLogType)[keyof typeof TaskLogType];

export interface TaskLogEntry {
  id: number;
  content: string;
  type: TaskLogType;
  time: string;
  /** Reads the ID of the user who sent an input; null for the prompt, for output, and if it is not known any more. */
  sender: (ctx: Context) => Promise<string | null>;
}

/** The conversation of a task, live or as last stored. */
export interface TaskLogs {
  entries: TaskLogEntry[];
  /** Whether the entries are stored ones. */
  snapshot: boolean;
  /** When they were stored; null for live entries, and if none were stored. */
  snapshotAt: string | null;
  /** Whether the agent has left out earlier entries, or cut long ones, to store the others. */
  isCut: boolean;
}

const entryOf =
  (taskId: string) =>
  ({ id, role, content, time }: AgentMessage): TaskLogEntry => ({
    id,
    content,
    type: role === "user" ? TaskLogType.INPUT : TaskLogType.OUTPUT,
    time,
    sender: async (ctx) => (role === "user" ? senderOfText(ctx, taskId, content, time) : null),
  });

/**
 * Reads the conversation of a task: of an active one from its program, for callers who may connect to it; else what its
 * agent stored. Throws UNAVAILABLE if the program fails, CONFLICT in the states error and unknown, if nothing is stored.
 */
export async function readTaskLogs(ctx: Context, task: TaskRow): Promise<TaskLogs> {
  const isLive = task.status === "active" && may(ctx.actor, "workspace:application_connect", taskTarget(task));
  const conversation = await ctx.load(conversationsByTask, task.id);
  if (conversation?.takesInputs) return logsOf(ctx, conversation, isLive);
  const live = isLive ? await liveEntries(ctx, task) : undefined;
  if (Array.isArray(live)) return { entries: live, snapshot: false, snapshotAt: null, isCut: false };
  const stored = await ctx.load(snapshotsByTask, task.id);
  if (stored) {
    const { messages, capturedAt, isCut } = stored;
    return { entries: messages.map(entryOf(task.id)), snapshot: true, snapshotAt: capturedAt, isCut };
  }
  if (live) throw live;
  if (task.status === "error" || task.status === "unknown") throw notInStatus(task, "It has no stored logs.");
  return { entries: [], snapshot: true, snapshotAt: null, isCut: false };
}

/** The conversation of a task whose agent reports all of it. */
async function logsOf(
  ctx: Context,
  { taskId, updatedAt, omitted }: ConversationRow,
  isLive: boolean,
): Promise<TaskLogs> {
  const messages = await ctx.load(messagesByTask, taskId);
  return {
    entries: messages.map(reportedEntry),
    snapshot: !isLive,
    snapshotAt: isLive ? null : updatedAt,
    isCut: omitted > 0 || messages.some(({ isCut }) => isCut),
  };
}

const reportedEntry = (message: ConversationMessageRow): TaskLogEntry => ({
  id: message.seq,
  content: plainText(message.parts),
  type: message.role === "user" ? TaskLogType.INPUT : TaskLogType.OUTPUT,
  time: message.writtenAt,
  sender: (ctx) => senderOfMessage(ctx, message),
});

/** Batch read of what the agents of tasks stored, for `ctx.load`. */
async function snapshotsByTask({ db }: Context, taskIds: readonly string[]) {
  const rows = await db
    .selectFrom("taskLogSnapshots")
    .select(["taskId", "messages", "capturedAt", "isCut"])
    .where("taskId", "=", anyOf(taskIds))
    .execute();
  const found = new Map(rows.map((row) => [row.taskId, row]));
  return taskIds.map((id) => found.get(id));
}

const unreachable = (cause?: unknown) =>
  new DomainError("UNAVAILABLE", "Failed to reach the task app.", { upstream: true, cause });

/** The entries of a program, or the failure to read them. */
async function liveEntries({ services }: Context, task: TaskRow): Promise<TaskLogEntry[] | DomainError> {
  const place = await appPlace(services, task);
  if (place === undefined) return unreachable();
  try {
    return (await services.agentApi.messages(place)).map(entryOf(task.id));
  } catch (error) {
    if (error instanceof AgentUnreachable) return unreachable(error);
    throw error;
  }
}

/**
 * Streams the conversation of an active task as its program reports it: first all entries, then each that is new or
 * changed. Ends with the program's stream. Throws CONFLICT for a task that is not active. A rejected watch throws before
 * this resolves.
 */
export const watchTaskMessages = (ctx: Context, { id }: { id: string }): Promise<Watch<TaskLogEntry>> =>
  relaying(ctx, {
    while: (fresh) => findTaskFor(fresh, { task: id }, "workspace:application_connect"),
    hints: (task) => [taskHint(task.id), ...accessHints(ctx, task.workspaceId)],
    open: (task, signal) =>
      task.takesInputs ? reportedEntries(ctx, task, signal) : openConversation(ctx, task, signal),
  });

async function openConversation(
  { services }: Context,
  task: TaskRow,
  signal: AbortSignal,
): Promise<AsyncIterator<TaskLogEntry, void>> {
  if (task.status !== "active") throw notInStatus(task, "Only an active task has live messages.");
  const place = await appPlace(services, task);
  if (place === undefined) throw unreachable();
  return entriesOf(task, await services.agentApi.events(place, signal).catch(upstreamFailure));
}

/** The entries of a task whose agent reports its conversation, until the signal is aborted. */
async function reportedEntries(
  ctx: Context,
  task: TaskRow,
  signal: AbortSignal,
): Promise<AsyncIterator<TaskLogEntry, void>> {
  if (task.status !== "active") throw notInStatus(task, "Only an active task has live messages.");
  const changes = await watchConversation(ctx, { id: task.id, since: -1 });
  signal.addEventListener("abort", () => void changes.return(), { once: true });
  return (async function* () {
    for await (const { messages } of changes) yield* messages.map(reportedEntry);
  })();
}

async function* entriesOf({ id }: TaskRow, messages: AsyncIterable<AgentMessage>): AsyncGenerator<TaskLogEntry, void> {
  for await (const message of messages) yield entryOf(id)(message);
}

function upstreamFailure(error: unknown): never {
  throw error instanceof AgentUnreachable ? unreachable(error) : error;
}

/** Maximum size of the uploaded JSON, in bytes. */
const largestSnapshot = 64 * 1024;

export const UploadTaskLogSnapshot = inputOf({
  taskId: required(uuid, "ID of the task of the agent's workspace."),
  format: required(matching(/^agentapi$/, "Must be agentapi."), "The format of the content: `agentapi`."),
  content: required(
    jsonObject,
    `The conversation: \`messages\` with \`id\`, \`role\`, \`content\` and \`time\`. JSON of more than ${largestSnapshot} bytes is rejected.`,
  ),
});
export type UploadTaskLogSnapshot = Input<typeof UploadTaskLogSnapshot>;

/**
 * Stores the conversation of a task, for its agent. Throws NOT_FOUND for a task of another workspace, BAD_USER_INPUT for
 * an unknown format or faulty messages, all of them together.
 */
export async function uploadTaskLogSnapshot(
  ctx: Context,
  { taskId, format, content }: UploadTaskLogSnapshot,
): Promise<string> {
  const agent = authorizeMachine(ctx.actor, "task_snapshot:upload");
  const task = await ctx.db
    .selectFrom("tasks as t")
    .innerJoin("workspaceAgents as a", "a.workspaceId", "t.workspaceId")
    .innerJoin("workspaceBuilds as b", "b.id", "a.buildId")
    .select("b.buildNumber")
    .where("t.id", "=", taskId)
    .where("a.id", "=", agent.id)
    .where("t.deletedAt", "is", null)
    .executeTakeFirst();
  if (!task) throw notFound();
  const problems = new Problems();
  check(UploadTaskLogSnapshot, { format }, problems);
  problems.throwIfAny();
  if (Buffer.byteLength(JSON.stringify(content)) > largestSnapshot)
    throw new DomainError("BAD_USER_INPUT", "Request body too large.", {
      tooLarge: true,
      detail: `A snapshot must be at most ${largestSnapshot} bytes.`,
    });
  const read = readMessages(content);
  const messages = sql<AgentMessage[]>`${JSON.stringify(read)}::jsonb`;
  const isCut = isObject(content) && content.cut === true;
  await ctx.db
    .insertInto("taskLogSnapshots")
    .values({ taskId, buildNumber: task.buildNumber, format, messages, isCut, capturedAt: now })
    .onConflict((existing) =>
      existing
        .column("taskId")
        .doUpdateSet((eb) => ({
          buildNumber: eb.ref("excluded.buildNumber"),
          format: eb.ref("excluded.format"),
          messages: eb.ref("excluded.messages"),
          isCut: eb.ref("excluded.isCut"),
          capturedAt: eb.ref("excluded.capturedAt"),
        }))
        // An upload of an older build does not replace the one of a newer build.
        .whereRef("taskLogSnapshots.buildNumber", "<=", "excluded.buildNumber"),
    )
    .execute();
  await storeSnapshotMessages(ctx, { taskId, buildNumber: task.buildNumber }, read);
  return taskId;
}

/** Reads the messages of an upload. NUL characters, which Postgres does not store, become U+FFFD. */
function readMessages(content: unknown): AgentMessage[] {
  const given = isObject(content) ? content.messages : undefined;
  if (!Array.isArray(given)) throw badInput([{ field: "messages", detail: "Must be a list of messages." }]);
  const problems = new Problems();
  const messages = given.map((each: unknown, index) => readMessage(each, `messages[${index}]`, problems));
  problems.throwIfAny();
  return messages;
}

function readMessage(value: unknown, path: string, problems: Problems): AgentMessage {
  const { id, content, role, time } = isObject(value) ? value : {};
  const at = typeof time === "string" ? utcMoment(time) : undefined;
  problems.add(`${path}.id`, Number.isSafeInteger(id) ? undefined : "Must be an integer.");
  problems.add(`${path}.content`, typeof content === "string" ? undefined : "Must be a text.");
  problems.add(`${path}.role`, role === "user" || role === "agent" ? undefined : "Must be user or agent.");
  problems.add(`${path}.time`, at === undefined ? "Must be a date and time in RFC 3339 form." : undefined);
  const text = typeof content === "string" ? content.replaceAll("\0", "\uFFFD").toWellFormed() : "";
  return { id: Number(id), role: role as AgentMessage["role"], content: text, time: at ?? "" };
}
