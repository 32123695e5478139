import { defineEntity, p } from "@mikro-orm/core";
import { WorkspaceAgent, WorkspaceApp } from "./agents.js";
import { BaseSchema, moment } from "./base.js";
import { Organization } from "./organizations.js";
import { TemplatePreset, TemplateVersion } from "./templates.js";
import { User } from "./users.js";
import { Workspace } from "./workspaces.js";
import { longestLabel, longestName } from "./lengths.js";

/** Maximum lengths in characters of what agents report of conversations, which the columns and the inputs have. */
export const conversationLengths = { key: 128, id: 128, sessionId: 512 } as const;

/** AI tasks. Each has a workspace of its own, with the same name, owner and organization. */
export const TaskSchema = defineEntity({
  name: "Task",
  tableName: "tasks",
  extends: BaseSchema,
  uniques: [
    { name: "tasks_workspace_unique", properties: ["workspace"] },
    {
      name: "tasks_name_unique",
      expression: "create unique index tasks_name_unique on tasks (owner_id, lower(name)) where deleted_at is null",
    },
  ],
  indexes: [
    {
      name: "tasks_page_index",
      expression: "create index tasks_page_index on tasks (created_at desc, id desc) where deleted_at is null",
    },
    {
      name: "tasks_status_index",
      expression: "create index tasks_status_index on tasks (status, created_at, id) where deleted_at is null",
    },
    {
      name: "tasks_owner_index",
      expression:
        "create index tasks_owner_index on tasks (owner_id, created_at, id) include (organization_id, name, display_name) where deleted_at is null",
    },
    {
      name: "tasks_status_owner_index",
      expression:
        "create index tasks_status_owner_index on tasks (status, owner_id, created_at, id) include (organization_id) where deleted_at is null",
    },
    {
      name: "tasks_organization_index",
      expression:
        "create index tasks_organization_index on tasks (organization_id, created_at, id) where deleted_at is null",
    },
    {
      name: "tasks_status_organization_index",
      expression:
        "create index tasks_status_organization_index on tasks (status, organization_id, created_at, id) where deleted_at is null",
    },
    {
      name: "tasks_search_index",
      expression: `create index tasks_search_index on tasks using gin (
        (lower(name) collate "C") gin_trgm_ops, (lower(display_name) collate "C") gin_trgm_ops
      ) where deleted_at is null`,
    },
  ],
  properties: {
    owner: () => p.manyToOne(User).ref().index(false),
    organization: () => p.manyToOne(Organization).ref().index(false),
    name: p.string().length(longestName),
    displayName: p.string().length(longestLabel).default(""),
    initialPrompt: p.text(),
    /** The version and preset that it was created with. */
    version: () => p.manyToOne(TemplateVersion).ref().index("tasks_version_index"),
    preset: () => p.manyToOne(TemplatePreset).ref().nullable().deleteRule("set null").index(false),
    workspace: () => p.manyToOne(Workspace).ref().deleteRule("cascade").index(false),
    /** Derived from the latest build, the agent and the app of the workspace, whenever one of these changes. */
    status: p.enum(["pending", "initializing", "active", "paused", "error", "unknown"]).default("pending"),
    /** Number of the last queued input. */
    inputSeq: p.integer().default(0),
    /** Until when a replica delivers the queued inputs of this task. */
    deliveringUntil: moment().nullable(),
    deletedAt: moment().nullable(),
  },
});
export class Task extends TaskSchema.class {}
TaskSchema.setClass(Task);

/** One row per start of the workspace of a task. */
export const TaskBuildSchema = defineEntity({
  name: "TaskBuild",
  tableName: "task_builds",
  properties: {
    task: () => p.manyToOne(Task).ref().primary().deleteRule("cascade"),
    buildNumber: p.integer().primary(),
    /** Null until the daemon has reported resources. */
    agent: () => p.manyToOne(WorkspaceAgent).ref().nullable().deleteRule("set null").index("task_builds_agent_index"),
    app: () => p.manyToOne(WorkspaceApp).ref().nullable().deleteRule("set null").index("task_builds_app_index"),
  },
});
export class TaskBuild extends TaskBuildSchema.class {}
TaskBuildSchema.setClass(TaskBuild);

/** Inputs for the program of a task, delivered one after the other. */
export const TaskMessageSchema = defineEntity({
  name: "TaskMessage",
  tableName: "task_messages",
  uniques: [{ name: "task_messages_seq_unique", properties: ["task", "seq"] }],
  indexes: [
    {
      name: "task_messages_open_index",
      expression:
        "create index task_messages_open_index on task_messages (task_id, seq) where state in ('queued', 'delivering')",
    },
    {
      name: "task_messages_finished_index",
      expression:
        "create index task_messages_finished_index on task_messages (finished_at) where finished_at is not null",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    task: () => p.manyToOne(Task).ref().deleteRule("cascade").index(false),
    seq: p.integer(),
    sender: () => p.manyToOne(User).ref().index(false),
    content: p.text(),
    state: p.enum(["queued", "delivering", "delivered", "failed", "unconfirmed", "expired", "canceled"]),
    attempts: p.integer().default(0),
    lastError: p.string().length(512).default(""),
    /** The newest message of the conversation before the delivery, by which a lost response is resolved; else null. */
    newestBefore: p.bigint("number").nullable(),
    nextAttemptAt: moment(),
    createdAt: moment(),
    deliveredAt: moment().nullable(),
    finishedAt: moment().nullable(),
  },
});
export class TaskMessage extends TaskMessageSchema.class {}
TaskMessageSchema.setClass(TaskMessage);

/** The last messages of the program of a task, as its agent uploaded them. */
export const TaskLogSnapshotSchema = defineEntity({
  name: "TaskLogSnapshot",
  tableName: "task_log_snapshots",
  properties: {
    task: () => p.oneToOne(Task).ref().primary().owner().deleteRule("cascade"),
    buildNumber: p.integer(),
    format: p.string().length(32),
    messages: p.json<Array<{ id: number; role: "user" | "agent"; content: string; time: string }>>(),
    /** Whether the agent left out earlier messages, or cut long ones. */
    isCut: p.boolean().default(false),
    capturedAt: moment(),
  },
});
export class TaskLogSnapshot extends TaskLogSnapshotSchema.class {}
TaskLogSnapshotSchema.setClass(TaskLogSnapshot);

/** A part of a message of a conversation, as stored. */
export type ConversationPart =
  | { kind: "text"; text: string }
  | { kind: "tool_call"; toolCallId: string; title: string; toolKind: string; status: ToolStatus; input: string }
  | { kind: "tool_result"; toolCallId: string; text: string; isError: boolean }
  | {
      kind: "permission";
      requestId: string;
      toolCallId: string;
      title: string;
      options: Array<{ id: string; name: string; kind: PermissionOptionKind }>;
      /** The chosen option; null while the request is open, and if it was canceled. */
      optionId: string | null;
      isCanceled: boolean;
    }
  | { kind: "interrupt"; text: string };
export type ToolStatus = "pending" | "in_progress" | "completed" | "failed";
export type PermissionOptionKind = "allow_once" | "allow_always" | "reject_once" | "reject_always";

/** The conversation of a task in its structured form, over all starts of the workspace. */
export const TaskConversationSchema = defineEntity({
  name: "TaskConversation",
  tableName: "task_conversations",
  properties: {
    task: () => p.oneToOne(Task).ref().primary().owner().deleteRule("cascade"),
    /** The start whose program reports. */
    buildNumber: p.integer(),
    protocol: p.enum(["agentapi", "acp"]),
    /** Whether an agent reports its messages. Otherwise they are those of the latest snapshot. */
    isReported: p.boolean().default(false),
    state: p.enum(["working", "idle", "requires_action", "error"]).nullable(),
    stateMessage: p.string().length(512).default(""),
    /** The session of an ACP program, by which it loads its conversation. */
    sessionId: p.string().length(conversationLengths.sessionId).nullable(),
    /** The numbers of the last message and the last change. */
    lastSeq: p.integer().default(0),
    revision: p.integer().default(0),
    /** How many of the oldest messages were left out, and when the newest of them was written. */
    omitted: p.integer().default(0),
    omittedUntil: moment().nullable(),
    /** Whether the agent of the start takes inputs as actions. Otherwise they are sent to the URL of the app. */
    takesInputs: p.boolean().default(false),
    /** The mode of the session of an ACP program, and whether it asks no user for permissions in it. */
    sessionMode: p.string().length(128).default(""),
    asksNobody: p.boolean().default(false),
    updatedAt: moment(),
  },
});
export class TaskConversation extends TaskConversationSchema.class {}
TaskConversationSchema.setClass(TaskConversation);

/** A message of the conversation of a task. */
export const TaskConversationMessageSchema = defineEntity({
  name: "TaskConversationMessage",
  tableName: "task_conversation_messages",
  uniques: [
    { name: "task_conversation_messages_key_unique", properties: ["task", "key"] },
    { name: "task_conversation_messages_seq_unique", properties: ["task", "seq", "id"] },
  ],
  indexes: [{ name: "task_conversation_messages_revision_index", properties: ["task", "revision"] }],
  properties: {
    id: p.uuid().primary(),
    task: () => p.manyToOne(Task).ref().deleteRule("cascade").index(false),
    /** Identifies the message for the agent that reports it. */
    key: p.string().length(conversationLengths.key),
    seq: p.integer(),
    buildNumber: p.integer(),
    role: p.enum(["user", "agent"]),
    /** Who sent it, if it was an input. */
    sender: () => p.manyToOne(User).ref().nullable().index(false),
    parts: p.json<ConversationPart[]>(),
    /** Whether the agent cut a part because it was too long. */
    isCut: p.boolean().default(false),
    /** Size of the parts. */
    bytes: p.integer(),
    /** The change of the conversation that was the last one of the message. */
    revision: p.integer(),
    writtenAt: moment(),
  },
});
export class TaskConversationMessage extends TaskConversationMessageSchema.class {}
TaskConversationMessageSchema.setClass(TaskConversationMessage);

/** Actions that users want from the program of a task beside inputs, until its agent has carried them out. */
export const TaskActionSchema = defineEntity({
  name: "TaskAction",
  tableName: "task_actions",
  uniques: [
    {
      name: "task_actions_decision_unique",
      expression:
        "create unique index task_actions_decision_unique on task_actions (task_id, build_number, request_id) where kind = 'decision'",
    },
  ],
  indexes: [
    {
      name: "task_actions_open_index",
      expression: "create index task_actions_open_index on task_actions (task_id, id) where finished_at is null",
    },
    { name: "task_actions_created_index", properties: ["createdAt"] },
  ],
  properties: {
    id: p.uuid().primary(),
    task: () => p.manyToOne(Task).ref().deleteRule("cascade").index(false),
    buildNumber: p.integer(),
    kind: p.enum(["decision", "interrupt", "input"]),
    /** The request and the chosen option of a decision; the ID of an input; else empty. */
    requestId: p.string().length(conversationLengths.id).default(""),
    optionId: p.string().length(conversationLengths.id).default(""),
    createdAt: moment(),
    finishedAt: moment().nullable(),
  },
});
export class TaskAction extends TaskActionSchema.class {}
TaskActionSchema.setClass(TaskAction);
