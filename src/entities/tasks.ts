import { defineEntity, p } from "@mikro-orm/core";
import { WorkspaceAgent, WorkspaceApp } from "./agents.js";
import { BaseSchema, moment } from "./base.js";
import { Organization } from "./organizations.js";
import { TemplatePreset, TemplateVersion } from "./templates.js";
import { User } from "./users.js";
import { Workspace } from "./workspaces.js";

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
    name: p.string().length(32),
    displayName: p.string().length(64).default(""),
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
    capturedAt: moment(),
  },
});
export class TaskLogSnapshot extends TaskLogSnapshotSchema.class {}
TaskLogSnapshotSchema.setClass(TaskLogSnapshot);
