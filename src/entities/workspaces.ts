import { defineEntity, p } from "@mikro-orm/core";
import { BaseSchema, moment } from "./base.js";
import { Group } from "./groups.js";
import { Organization } from "./organizations.js";
import { ProvisionerDaemon, ProvisionerJob } from "./provisioners.js";
import { Template, TemplatePreset, TemplateVersion } from "./templates.js";
import { User } from "./users.js";
import { longestLabel, longestName, longestUrl } from "./lengths.js";

const buildStatuses = [
  "pending",
  "starting",
  "running",
  "stopping",
  "stopped",
  "failed",
  "canceling",
  "canceled",
  "deleting",
  "deleted",
] as const;

/** A change of the workspaces of a template. A trigger adds them, and a job adds their sums to the template. */
export const WorkspaceChangeSchema = defineEntity({
  name: "WorkspaceChange",
  tableName: "workspace_changes",
  properties: {
    id: p.uuid().primary().defaultRaw("gen_random_uuid()"),
    /** No reference: a foreign key would lock the template. */
    templateId: p.uuid(),
    workspaceCount: p.integer(),
    runningCount: p.integer(),
  },
});
export class WorkspaceChange extends WorkspaceChangeSchema.class {}
WorkspaceChangeSchema.setClass(WorkspaceChange);

export const WorkspaceSchema = defineEntity({
  name: "Workspace",
  tableName: "workspaces",
  extends: BaseSchema,
  uniques: [
    {
      name: "workspaces_name_unique",
      expression:
        "create unique index workspaces_name_unique on workspaces (owner_id, lower(name)) where deleted_at is null",
    },
  ],
  indexes: [
    { name: "workspaces_owner_index", properties: ["owner"] },
    {
      name: "workspaces_owner_used_index",
      expression:
        "create index workspaces_owner_used_index on workspaces (owner_id, last_used_at, id) where deleted_at is null",
    },
    {
      name: "workspaces_used_index",
      expression:
        "create index workspaces_used_index on workspaces (organization_id, last_used_at, id) where deleted_at is null",
    },
    {
      name: "workspaces_status_index",
      expression:
        "create index workspaces_status_index on workspaces (latest_status, last_used_at, id) where deleted_at is null",
    },
    {
      name: "workspaces_organization_status_index",
      expression:
        "create index workspaces_organization_status_index on workspaces (organization_id, latest_status, last_used_at, id) where deleted_at is null",
    },
    {
      name: "workspaces_template_index",
      expression:
        "create index workspaces_template_index on workspaces (template_id, last_used_at, id) where deleted_at is null",
    },
    {
      name: "workspaces_list_index",
      expression:
        "create index workspaces_list_index on workspaces (last_used_at desc, id desc) where deleted_at is null",
    },
    {
      name: "workspaces_dormant_index",
      expression:
        "create index workspaces_dormant_index on workspaces (dormant_at) where dormant_at is not null and deleted_at is null",
    },
    {
      name: "workspaces_search_index",
      expression:
        'create index workspaces_search_index on workspaces using gin ((lower(name) collate "C") gin_trgm_ops) where deleted_at is null',
    },
    {
      name: "workspaces_deadline_index",
      expression:
        "create index workspaces_deadline_index on workspaces (deadline) where deadline is not null and deleted_at is null",
    },
    {
      name: "workspaces_autostart_index",
      expression:
        "create index workspaces_autostart_index on workspaces (autostart_at) where autostart_at is not null and deleted_at is null",
    },
  ],
  properties: {
    organization: () => p.manyToOne(Organization).ref().index("workspaces_organization_index"),
    owner: () => p.manyToOne(User).ref().index(false),
    name: p.string().length(longestName),
    template: () => p.manyToOne(Template).ref().index(false),
    /** The preset of a prebuilt workspace until it is claimed; null for all others. */
    prebuiltPreset: () =>
      p.manyToOne(TemplatePreset).ref().nullable().deleteRule("set null").index("workspaces_prebuilt_index"),
    /** Seconds that it runs after a start, instead of the value of the template; 0 sets no limit. */
    ttl: p.integer().nullable(),
    /** When it starts by itself, as a cron expression; null if only people start it. */
    autostartSchedule: p.string().length(128).nullable(),
    /** The next time at which the server looks whether to start it. */
    autostartAt: moment().nullable(),
    /** Whether the owner wants starts to take the active version, where the template leaves that to owners. */
    automaticUpdates: p.boolean().default(false),
    lastUsedAt: moment().defaultRaw("now()"),
    dormantAt: moment().nullable(),
    /** Builds go to this daemon until a stop or deletion succeeds. */
    pinnedDaemon: () => p.manyToOne(ProvisionerDaemon).ref().nullable().deleteRule("set null").index(false),
    injectUserSecrets: p.boolean().default(true),
    /** The latest build and its status, kept with each change. References `workspace_builds`. */
    latestBuildId: p.uuid().nullable(),
    latestTransition: p.enum(["start", "stop", "delete"]).nullable(),
    latestStatus: p.enum(buildStatuses).default("pending"),
    /** When a running workspace is stopped; moved by activity. */
    deadline: moment().nullable(),
    /** When its owner was last told that it stops soon. */
    stopNoticedAt: moment().nullable(),
    /** When its owner was last told that its agent is gone. */
    lossNoticedAt: moment().nullable(),
    /** When the server may start the next build by itself, after one that it has started. */
    autobuildAfter: moment().nullable(),
    deletedAt: moment().nullable(),
  },
});
export class Workspace extends WorkspaceSchema.class {}
WorkspaceSchema.setClass(Workspace);

/** Starts, stops and deletions of workspaces. */
export const WorkspaceBuildSchema = defineEntity({
  name: "WorkspaceBuild",
  tableName: "workspace_builds",
  extends: BaseSchema,
  uniques: [{ name: "workspace_builds_number_unique", properties: ["workspace", "buildNumber"] }],
  indexes: [{ name: "workspace_builds_page_index", properties: ["workspace", "createdAt", "id"] }],
  properties: {
    workspace: () => p.manyToOne(Workspace).ref().deleteRule("cascade").index(false),
    buildNumber: p.integer(),
    version: () => p.manyToOne(TemplateVersion).ref().index("workspace_builds_version_index"),
    preset: () => p.manyToOne(TemplatePreset).ref().nullable().deleteRule("set null").index(false),
    transition: p.enum(["start", "stop", "delete"]),
    reason: p.enum([
      "initiator",
      "autostart",
      "autostop",
      "dormancy",
      "autodelete",
      "owner_suspended",
      "task_manual_pause",
      "task_auto_pause",
      "task_resume",
      "dashboard",
      "cli",
      "ssh_connection",
      "vscode_connection",
      "jetbrains_connection",
    ]),
    initiator: () => p.manyToOne(User).ref().index(false),
    job: () => p.oneToOne(ProvisionerJob).ref().owner().unique("workspace_builds_job_unique"),
    /** Whether it hands a prebuilt workspace to its owner. */
    isClaim: p.boolean().default(false),
    /** Credits, as the daemon reported them. */
    dailyCost: p.integer().default(0),
    deadline: moment().nullable(),
    maxDeadline: moment().nullable(),
    /** The deadline by the settings alone: the actual one is later if people or activity have moved it. */
    plannedDeadline: moment().nullable(),
    /** Values by name. */
    parameters: p.json<Record<string, string>>(),
    /** How the workspace starts when this stop has succeeded; null if it does not. */
    nextStart: p.json<object>().nullable(),
    /** The state that the daemon left for the next build; null if none. */
    state: p.json<unknown>().nullable(),
  },
});
export class WorkspaceBuild extends WorkspaceBuildSchema.class {}
WorkspaceBuildSchema.setClass(WorkspaceBuild);

/** A resource that a job created or keeps. */
export const WorkspaceResourceSchema = defineEntity({
  name: "WorkspaceResource",
  tableName: "workspace_resources",
  uniques: [{ name: "workspace_resources_name_unique", properties: ["job", "name"] }],
  properties: {
    id: p.uuid().primary(),
    createdAt: moment(),
    job: () => p.manyToOne(ProvisionerJob).ref().deleteRule("cascade").index(false),
    transition: p.enum(["start", "stop", "delete"]),
    /** Place in the report. */
    position: p.integer(),
    name: p.string().length(longestLabel),
    type: p.string().length(64).default(""),
    icon: p.string().length(longestUrl).default(""),
    hide: p.boolean().default(false),
    dailyCost: p.integer().default(0),
    metadata: p.json<Array<{ key: string; value: string; sensitive: boolean }>>(),
  },
});
export class WorkspaceResource extends WorkspaceResourceSchema.class {}
WorkspaceResourceSchema.setClass(WorkspaceResource);

/** Entries of the access lists of workspaces, each for a user or a group. */
export const WorkspaceAclEntrySchema = defineEntity({
  name: "WorkspaceAclEntry",
  tableName: "workspace_acl_entries",
  uniques: [
    {
      name: "workspace_acl_entries_user_unique",
      expression:
        "create unique index workspace_acl_entries_user_unique on workspace_acl_entries (workspace_id, user_id) where user_id is not null",
    },
    {
      name: "workspace_acl_entries_group_unique",
      expression:
        "create unique index workspace_acl_entries_group_unique on workspace_acl_entries (workspace_id, group_id) where group_id is not null",
    },
  ],
  indexes: [
    {
      name: "workspace_acl_entries_expiry_index",
      expression:
        "create index workspace_acl_entries_expiry_index on workspace_acl_entries (expires_at) where expires_at is not null",
    },
  ],
  checks: [{ name: "workspace_acl_entries_subject_check", expression: "num_nonnulls(user_id, group_id) = 1" }],
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().deleteRule("cascade").index(false),
    user: () => p.manyToOne(User).ref().nullable().deleteRule("cascade").index("workspace_acl_entries_user_index"),
    group: () => p.manyToOne(Group).ref().nullable().deleteRule("cascade").index("workspace_acl_entries_group_index"),
    role: p.enum(["use", "admin"]),
    createdAt: moment(),
    /** When it ends by itself; null for never. */
    expiresAt: moment().nullable(),
    /** When its owner and its user were last told that it ends soon. */
    endNoticedAt: moment().nullable(),
  },
});
export class WorkspaceAclEntry extends WorkspaceAclEntrySchema.class {}
WorkspaceAclEntrySchema.setClass(WorkspaceAclEntry);

/** Stopped workspaces that an administrator offers to another user than the owner, who may accept them until they expire. */
export const WorkspaceTransferSchema = defineEntity({
  name: "WorkspaceTransfer",
  tableName: "workspace_transfers",
  uniques: [{ name: "workspace_transfers_workspace_unique", properties: ["workspace"] }],
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().deleteRule("cascade").index(false),
    formerOwner: () => p.manyToOne(User).ref().deleteRule("cascade").index(false),
    receiver: () => p.manyToOne(User).ref().deleteRule("cascade").index("workspace_transfers_receiver_index"),
    offeredBy: () => p.manyToOne(User).ref().deleteRule("cascade").index(false),
    createdAt: moment(),
    expiresAt: moment().index("workspace_transfers_expiry_index"),
  },
});
export class WorkspaceTransfer extends WorkspaceTransferSchema.class {}
WorkspaceTransferSchema.setClass(WorkspaceTransfer);
