import { sql } from "kysely";
import { conversationLengths, type ConversationPart } from "../../entities/tasks.js";
import { type AppState } from "../agents/agent-apps.js";
import { reportAppStatus } from "../agents/app-reports.js";
import { authorizeMachine } from "../authorization/authorization.js";
import type { AgentActor } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { notFound, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { anyOf, now } from "../kernel/queries.js";
import { cleanLabel } from "../../runtime/text.js";
import {
  characters,
  check,
  choice,
  flag,
  idList,
  inputOf,
  type Input,
  list,
  listOf,
  meant,
  dateTime,
  optional,
  required,
  string,
  textBy,
  uuid,
} from "../kernel/values.js";
import {
  conversations,
  messagesByTask,
  conversationHint,
  conversationLimits,
  type ConversationMessageRow,
  ConversationRole,
  conversationsByTask,
  ConversationState,
  isOpenRequest,
  messagesRequesting,
  PermissionOptionKind,
  TaskProtocol,
  ToolCallStatus,
} from "./conversation.js";
import { inputsHint, queueHint, taskHint, updateTaskStatus } from "./task-status.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const taskConversationMessageColumns = columnsOf("taskConversationMessages");
const taskConversations = columnsOf("taskConversations");

const taskMessages = columnsOf("taskMessages", "m");
const taskConversationMessages = columnsOf("taskConversationMessages", "m");

/** The kind of a part of a message. */
export const ConversationPartKind = {
  TEXT: "text",
  TOOL_CALL: "tool_call",
  TOOL_RESULT: "tool_result",
  PERMISSION: "permission",
  INTERRUPT: "interrupt",
} as const;
export type ConversationPartKind = (typeof ConversationPartKind)[keyof typeof ConversationPartKind];

/** Maximum number of messages of a report. */
const mostReported = 100;

/** Lengths of the short texts of a report. */
const lengths = { ...conversationLengths, name: 200, title: 512, toolKind: 32 } as const;
const mostOptions = 20;

/** A short text of a report, which may have any characters. */
const shortText = (most: number) =>
  meant(
    textBy((given) => (given.length > most ? `Must be at most ${most} characters.` : undefined), { maxLength: most }),
    {
      limits: `at most ${most} characters`,
    },
  );

const shortId = characters(1, lengths.id);

export const ReportedOption = inputOf({
  id: required(shortId, "Identifies the option in the request. {limits}."),
  name: required(shortText(lengths.name), "Its text, {limits}."),
  kind: required(choice(PermissionOptionKind), "Its kind."),
});

/** A part as an agent reports it. Fields that its kind does not have are ignored; absent ones are empty. */
export const ReportedPart = inputOf({
  kind: required(choice(ConversationPartKind), "The kind, which says which other fields count."),
  text: optional(string, "Text."),
  toolCallId: optional(shortText(lengths.id), "Identifies a call of a tool. At most 128 characters."),
  title: optional(shortText(lengths.title), "Title for people. At most 512 characters."),
  toolKind: optional(shortText(lengths.toolKind), "Kind of a tool. At most 32 characters."),
  status: optional(choice(ToolCallStatus), "Status of a call. Default: `PENDING`."),
  input: optional(string, "Input of a tool, as JSON."),
  isError: optional(flag, "Whether a call failed. Default: false."),
  requestId: optional(shortText(lengths.id), "Identifies a request. At most 128 characters."),
  options: optional(list(mostOptions, ReportedOption), "The options of a request, {limits}."),
  optionId: optional(shortText(lengths.id), "The chosen option. Default: none."),
  isCanceled: optional(flag, "Whether a request was closed without a decision. Default: false."),
});
export type ReportedPart = Input<typeof ReportedPart>;

export const ReportedMessage = inputOf({
  key: required(characters(1, lengths.key), "Identifies the message in the conversation. {limits}."),
  role: required(choice(ConversationRole), "Who wrote it."),
  parts: required(
    listOf(ReportedPart),
    `Its parts, at most ${conversationLimits.parts}, together at most ${conversationLimits.messageBytes} bytes of JSON.`,
  ),
  isCut: optional(flag, "Whether a part was cut. Default: false."),
  writtenAt: required(dateTime, "When it was written, or began."),
});
export type ReportedMessage = Input<typeof ReportedMessage>;

export const ConversationReport = inputOf({
  taskId: required(uuid, "ID of the task of the agent's workspace."),
  state: optional(choice(ConversationState), "The state of the program. Default: unchanged."),
  stateMessage: optional(string, "More about the state. Cut to 512 characters."),
  sessionId: optional(
    shortText(lengths.sessionId),
    "The session by which the program loads the conversation. At most 512 characters. Default: unchanged.",
  ),
  sessionMode: optional(string, "The mode of the session. Cut to 128 characters. Default: unchanged."),
  asksNobody: optional(flag, "Whether the program asks no user for permissions in this mode. Default: unchanged."),
  messages: optional(list(mostReported, ReportedMessage), "New and changed messages in their order, {limits}."),
  finishedActionIds: optional(idList(mostReported, "IDs"), "IDs of the actions that were carried out, {limits}."),
});
export type ConversationReport = Input<typeof ConversationReport>;

export const BeginTaskConversation = inputOf({
  taskId: required(uuid, "ID of the task of the agent's workspace."),
  protocol: required(choice(TaskProtocol), "The protocol of its program."),
  takesInputs: optional(
    flag,
    "Whether the agent takes inputs from `taskActionRequested`; else they go to the app. Default: false.",
  ),
});
export type BeginTaskConversation = Input<typeof BeginTaskConversation>;

/** The data with which an agent continues a conversation. */
export interface BegunConversation {
  sessionId: string | null;
  omitted: number;
  messages: ConversationMessageRow[];
}

/** The start of a task whose agent calls. */
interface Start {
  taskId: string;
  buildNumber: number;
  /** The app of the task, if it is one of the agent. */
  appSlug: string | null;
}

/** Finds the task of the workspace of the calling agent. Throws NOT_FOUND for other tasks. */
async function startOfCaller(ctx: Context, taskId: string): Promise<Start & { agent: AgentActor }> {
  const agent = authorizeMachine(ctx.actor, "task_snapshot:upload");
  const start = await ctx.db
    .selectFrom("tasks as t")
    .innerJoin("workspaceAgents as a", "a.workspaceId", "t.workspaceId")
    .innerJoin("workspaceBuilds as b", "b.id", "a.buildId")
    .leftJoin("taskBuilds as s", (join) =>
      join.onRef("s.taskId", "=", "t.id").onRef("s.buildNumber", "=", "b.buildNumber").onRef("s.agentId", "=", "a.id"),
    )
    .leftJoin("workspaceApps as p", "p.id", "s.appId")
    .select(["t.id as taskId", "b.buildNumber", "p.slug as appSlug"])
    .where("t.id", "=", taskId)
    .where("a.id", "=", agent.id)
    .where("t.deletedAt", "is", null)
    .executeTakeFirst();
  if (!start) throw notFound();
  return { ...start, agent };
}

/** Locks the conversation of a task, which is made if there is none. */
async function lockConversation({ db }: Context, { taskId, buildNumber }: Start) {
  await db
    .insertInto("taskConversations")
    .values({ taskId, buildNumber, protocol: "agentapi", updatedAt: now })
    .onConflict((existing) => existing.column("taskId").doNothing())
    .execute();
  return conversations(db)
    .select(["c.lastSeq", "c.omittedUntil"])
    .where("c.taskId", "=", taskId)
    .forUpdate()
    .executeTakeFirstOrThrow();
}

/**
 * Begins, or continues, the conversation of the task of the calling agent's workspace. Requests for permissions and actions
 * that are still open were those of a program that has ended: they are closed. Returns the conversation so far.
 */
export async function beginConversation(
  ctx: Context,
  { taskId, protocol, takesInputs }: { taskId: string; protocol: TaskProtocol; takesInputs?: boolean | null },
): Promise<BegunConversation> {
  const start = await startOfCaller(ctx, taskId);
  const { buildNumber, revision } = await lockConversation(ctx, start);
  if (buildNumber <= start.buildNumber) {
    const asking = (await messagesRequesting(ctx, taskId).execute()).filter(({ parts }) => parts.some(isOpenRequest));
    for (const { id, parts } of asking) {
      const closed = parts.map((part) => (isOpenRequest(part) ? { ...part, isCanceled: true } : part));
      await ctx.db
        .updateTable("taskConversationMessages")
        .set({ parts: json(closed), revision: revision + 1 })
        .where("id", "=", id)
        .execute();
    }
    const closed = await ctx.db
      .updateTable("taskActions")
      .set({ finishedAt: now })
      .where("taskId", "=", taskId)
      .where("finishedAt", "is", null)
      .returning(["kind", "requestId"])
      .execute();
    // Whether the former program has taken them is not known.
    await endInputs(ctx, taskId, closed, "unconfirmed");
    if (protocol === "acp" && !takesInputs) await letAppServe(ctx, start);
    await ctx.db
      .updateTable("taskConversations")
      .set({ buildNumber: start.buildNumber, protocol, isReported: true, state: null, stateMessage: "" })
      .set({ takesInputs: takesInputs ?? false, sessionMode: "", asksNobody: false })
      .set({ revision: revision + 1, updatedAt: now })
      .where("taskId", "=", taskId)
      .execute();
    ctx.publish(conversationHint(taskId));
  }
  const [conversation] = await conversationsByTask(ctx, [taskId]);
  const { sessionId, omitted } = conversation!;
  return { sessionId, omitted, messages: (await messagesByTask(ctx, [taskId]))[0]! };
}

/** An agent of an earlier version does not say when its program is ready, if its app has no health check. */
async function letAppServe(ctx: Context, { taskId, appSlug, agent }: Start & { agent: AgentActor }): Promise<void> {
  if (appSlug === null) return;
  await ctx.db
    .updateTable("workspaceApps")
    .set({ health: "disabled" })
    .where("agentId", "=", agent.id)
    .where("slug", "=", appSlug)
    .where("healthcheckUrl", "=", "")
    .execute();
  await updateTaskStatus(ctx, taskId);
  ctx.publish(taskHint(taskId));
}

/** Ends the inputs of actions that are finished. */
async function endInputs(
  ctx: Context,
  taskId: string,
  actions: ReadonlyArray<{ kind: string; requestId: string }>,
  state: "delivered" | "unconfirmed",
): Promise<boolean> {
  const ids = actions.filter(({ kind }) => kind === "input").map(({ requestId }) => requestId);
  if (ids.length === 0) return false;
  await ctx.db
    .updateTable("taskMessages")
    .set((eb) => ({
      state,
      finishedAt: now,
      deliveredAt: state === "delivered" ? now : null,
      lastError: state === "delivered" ? "" : "The program ended before it confirmed the input.",
      attempts: eb("attempts", "+", 1),
    }))
    .where("taskId", "=", taskId)
    .where("id", "=", anyOf(ids))
    .where("state", "=", "delivering")
    .execute();
  ctx.publish(queueHint(taskId), inputsHint);
  return true;
}

const json = (parts: readonly ConversationPart[]) => sql<ConversationPart[]>`${JSON.stringify(parts)}::jsonb`;

/** The state of an app for a state of an ACP program. REST has no state for a request: the program waits. */
const appStates: Record<ConversationState, AppState> = {
  working: "working",
  idle: "idle",
  requires_action: "idle",
  error: "failed",
};
const appMessages: Record<ConversationState, string> = {
  working: "Working.",
  idle: "Waiting for input.",
  requires_action: "Waiting for a permission.",
  error: "The program has failed.",
};

/**
 * Stores what an agent reports of the conversation of its task: new and changed messages, by their keys, and the state of
 * the program, which is also the status of its app if the program speaks ACP. Messages that were left out before stay out.
 */
export async function reportConversation(ctx: Context, report: ConversationReport): Promise<string> {
  const { taskId } = report;
  const start = await startOfCaller(ctx, taskId);
  const messages = readReport(report);
  const conversation = await lockConversation(ctx, start);
  // The agent of an earlier start has nothing to say any more.
  if (conversation.buildNumber > start.buildNumber) return taskId;
  const revision = conversation.revision + 1;
  const lastSeq = await store(ctx, { ...conversation, buildNumber: start.buildNumber, revision }, messages);
  const isGiven = await finishActions(ctx, taskId, report.finishedActionIds ?? []);
  // A program that has taken an input works, although its state may come with a later report.
  const state = report.state ?? (isGiven ? "working" : conversation.state);
  const stateMessage = report.state == null ? conversation.stateMessage : cleanLabel(report.stateMessage ?? "", 512);
  const sessionMode = (report.sessionMode ?? conversation.sessionMode).slice(0, 128);
  const asksNobody = report.asksNobody ?? conversation.asksNobody;
  const sessionId = report.sessionId ? report.sessionId : conversation.sessionId;
  await ctx.db
    .updateTable("taskConversations")
    .set({ buildNumber: start.buildNumber, isReported: true, state, stateMessage, sessionId, lastSeq, revision })
    .set({ sessionMode, asksNobody, updatedAt: now })
    .where("taskId", "=", taskId)
    .execute();
  await leaveOut(ctx, taskId);
  // The next input of the queue may be due.
  if (state === "idle" && state !== conversation.state) await wakeQueue(ctx, taskId);
  const isNews = state !== conversation.state || (state === "error" && stateMessage !== conversation.stateMessage);
  if (isNews && state !== null && conversation.protocol === "acp" && start.appSlug !== null) {
    const message = cutTo(stateMessage || appMessages[state], 160);
    await reportAppStatus(ctx, { appSlug: start.appSlug, state: appStates[state], message });
  }
  ctx.publish(conversationHint(taskId), ...(isNews ? [taskHint(taskId)] : []));
  return taskId;
}

/** Cuts a text to a number of bytes. */
function cutTo(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  // A character that the cut divides becomes U+FFFD, which is removed.
  return `${bytes
    .subarray(0, most - 3)
    .toString()
    .replace(/\uFFFD+$/, "")}…`;
}

interface Numbered {
  taskId: string;
  buildNumber: number;
  lastSeq: number;
  revision: number;
  omittedUntil: string | null;
}

interface StoredMessage {
  key: string;
  role: ConversationRole;
  parts: ConversationPart[];
  isCut: boolean;
  writtenAt: string;
}

/** Stores messages, and returns the number of the last one. Unchanged ones keep their revision. */
async function store({ db }: Context, at: Numbered, messages: readonly StoredMessage[]): Promise<number> {
  const { taskId, buildNumber, revision, omittedUntil } = at;
  if (messages.length === 0) return at.lastSeq;
  const known = await db
    .selectFrom("taskConversationMessages")
    .select("key")
    .where("taskId", "=", taskId)
    .where(
      "key",
      "=",
      anyOf(
        messages.map(({ key }) => key),
        "text",
      ),
    )
    .execute();
  const keys = new Set(known.map(({ key }) => key));
  /** The sender of the input whose ID the key of a message has. */
  const senderOf = (key: string) => {
    const [, input] = /^input-([0-9a-f-]{36})$/.exec(key) ?? [];
    return input === undefined
      ? null
      : sql<
          string | null
        >`(select ${taskMessages.senderId} from task_messages m where ${taskMessages.taskId} = ${taskId} and m.id::text = ${input})`;
  };
  let { lastSeq } = at;
  for (const { key, role, parts, isCut, writtenAt } of messages) {
    const bytes = Buffer.byteLength(JSON.stringify(parts));
    if (keys.has(key)) {
      await db
        .updateTable("taskConversationMessages")
        .set({ parts: json(parts), isCut, bytes, revision })
        .where("taskId", "=", taskId)
        .where("key", "=", key)
        .where(
          sql<boolean>`(parts, ${taskConversationMessageColumns.isCut}) is distinct from (${json(parts)}, ${isCut}::boolean)`,
        )
        .execute();
    } else if (omittedUntil === null || writtenAt > omittedUntil) {
      lastSeq++;
      await db
        .insertInto("taskConversationMessages")
        .values({
          id: newId(),
          taskId,
          key,
          seq: lastSeq,
          buildNumber,
          role,
          senderId: senderOf(key),
          isCut,
          bytes,
          revision,
          writtenAt,
          parts: json(parts),
        })
        .onConflict((existing) => existing.columns(["taskId", "key"]).doNothing())
        .execute();
    }
  }
  return lastSeq;
}

/** Leaves out the oldest messages beyond the limits of a conversation, and counts them. */
async function leaveOut({ db }: Context, taskId: string): Promise<void> {
  const { messages, bytes } = conversationLimits;
  const { rows } = await sql<{ writtenAt: string }>`
    delete from task_conversation_messages m using (
      select id, row_number() over newest as place, sum(bytes) over newest as together
      from task_conversation_messages where task_id = ${taskId} window newest as (order by seq desc, id desc)
    ) placed where m.id = placed.id and (placed.place > ${messages} or placed.together > ${bytes} and placed.place > 1)
    returning ${taskConversationMessages.writtenAt} as "writtenAt"`.execute(db);
  if (rows.length === 0) return;
  const until = rows
    .map(({ writtenAt }) => writtenAt)
    .toSorted()
    .at(-1)!;
  await db
    .updateTable("taskConversations")
    .set((eb) => ({
      omitted: eb("omitted", "+", rows.length),
      omittedUntil: sql<string>`greatest(${taskConversations.omittedUntil}, ${until}::timestamptz)`,
    }))
    .where("taskId", "=", taskId)
    .execute();
}

/** Finishes actions. Returns whether an input was among them. */
async function finishActions(ctx: Context, taskId: string, ids: readonly string[]): Promise<boolean> {
  if (ids.length === 0) return false;
  const finished = await ctx.db
    .updateTable("taskActions")
    .set({ finishedAt: now })
    .where("taskId", "=", taskId)
    .where("id", "=", anyOf(ids))
    .where("finishedAt", "is", null)
    .returning(["kind", "requestId"])
    .execute();
  return endInputs(ctx, taskId, finished, "delivered");
}

/** Makes the next queued input of a task due. */
async function wakeQueue(ctx: Context, taskId: string): Promise<void> {
  await ctx.db
    .updateTable("taskMessages")
    .set({ nextAttemptAt: now })
    .where("taskId", "=", taskId)
    .where("state", "=", "queued")
    .execute();
  ctx.publish(inputsHint);
}

/** Makes the messages of a snapshot the conversation of a task whose agent does not report one. */
export async function storeSnapshotMessages(
  ctx: Context,
  start: { taskId: string; buildNumber: number },
  messages: ReadonlyArray<{ id: number; role: "user" | "agent"; content: string; time: string }>,
): Promise<void> {
  const { taskId } = start;
  const conversation = await lockConversation(ctx, { ...start, appSlug: null });
  if (conversation.isReported || conversation.buildNumber > start.buildNumber) return;
  const revision = conversation.revision + 1;
  await ctx.db.deleteFrom("taskConversationMessages").where("taskId", "=", taskId).execute();
  const newest = messages.slice(-conversationLimits.messages);
  const stored = newest.map(({ role, content, time }, index): StoredMessage => ({
    key: `snapshot-${index}`,
    role,
    parts: [{ kind: "text", text: content }],
    isCut: false,
    writtenAt: time,
  }));
  const lastSeq = await store(ctx, { ...conversation, ...start, lastSeq: 0, revision, omittedUntil: null }, stored);
  await ctx.db
    .updateTable("taskConversations")
    .set({ buildNumber: start.buildNumber, lastSeq, revision, updatedAt: now })
    .where("taskId", "=", taskId)
    .execute();
  ctx.publish(conversationHint(taskId));
}

function readReport({ messages, sessionId, finishedActionIds }: ConversationReport): StoredMessage[] {
  const problems = new Problems();
  const given = messages ?? [];
  problems.add("messages", given.length > mostReported ? `Must be at most ${mostReported} messages.` : undefined);
  check(ConversationReport, { sessionId, finishedActionIds }, problems);
  problems.throwIfAny();
  const read = given.map((message, index) => readMessage(message, `messages[${index}]`, problems));
  problems.throwIfAny();
  return read;
}

const lengthProblem = (text: string, most: number): string | undefined =>
  text.length > most ? `Must be at most ${most} characters.` : undefined;

function readMessage({ key, role, parts, isCut, writtenAt }: ReportedMessage, path: string, problems: Problems) {
  problems.add(`${path}.key`, key === "" ? "Must not be empty." : lengthProblem(key, lengths.key));
  const { parts: most, messageBytes } = conversationLimits;
  problems.add(`${path}.parts`, parts.length > most ? `Must be at most ${most} parts.` : undefined);
  const read = parts.slice(0, most).map((part, index) => readPart(part, `${path}.parts[${index}]`, problems));
  const isLarge = Buffer.byteLength(JSON.stringify(read)) > messageBytes;
  problems.add(`${path}.parts`, isLarge ? `Must be at most ${messageBytes} bytes of JSON.` : undefined);
  return { key: key, role, parts: read, isCut: isCut ?? false, writtenAt };
}

function readPart(part: ReportedPart, path: string, problems: Problems): ConversationPart {
  const short = (name: "toolCallId" | "title" | "toolKind" | "requestId" | "optionId", most: number): string => {
    const text = part[name] ?? "";
    problems.add(`${path}.${name}`, lengthProblem(text, most));
    return text;
  };
  const text = part.text ?? "";
  switch (part.kind) {
    case "text":
    case "interrupt":
      return { kind: part.kind, text };
    case "tool_call":
      return {
        kind: part.kind,
        toolCallId: short("toolCallId", lengths.id),
        title: cleanLabel(short("title", lengths.title), lengths.title),
        toolKind: short("toolKind", lengths.toolKind),
        status: part.status ?? "pending",
        input: part.input ?? "",
      };
    case "tool_result":
      return { kind: part.kind, toolCallId: short("toolCallId", lengths.id), text, isError: part.isError ?? false };
    default: {
      const options = part.options ?? [];
      const isFit = options.length <= mostOptions && options.every(({ id, name }) => isOption(id, name));
      const rule = `Must be at most ${mostOptions} options, with IDs of 1 to ${lengths.id} and names of at most ${lengths.name} characters.`;
      problems.add(`${path}.options`, isFit ? undefined : rule);
      return {
        kind: "permission",
        requestId: short("requestId", lengths.id),
        toolCallId: short("toolCallId", lengths.id),
        title: cleanLabel(short("title", lengths.title), lengths.title),
        options: options
          .slice(0, mostOptions)
          .map(({ id, name, kind }) => ({ id, name: cleanLabel(name, lengths.name), kind })),
        optionId: short("optionId", lengths.id) || null,
        isCanceled: part.isCanceled ?? false,
      };
    }
  }
}

const isOption = (id: string, name: string): boolean =>
  id !== "" && id.length <= lengths.id && name.length <= lengths.name;
