import { defineEntity, p } from "@mikro-orm/core";
import { BaseSchema, moment } from "./base.js";
import { EncryptionKey } from "./encryption.js";
import { Group } from "./groups.js";
import { Organization } from "./organizations.js";
import { User } from "./users.js";
import { longestDescription, longestLabel, longestName, longestUrl } from "./lengths.js";

/** The options of the session of an ACP program: values that the program offers. */
export interface TaskOptions {
  mode?: string;
  model?: string;
  effort?: string;
}

const bytes = () => p.type("bytea").$type<Buffer>();

/** The contents of template versions. Immutable; an organization stores equal documents once. */
export const TemplateDocumentSchema = defineEntity({
  name: "TemplateDocument",
  tableName: "template_documents",
  uniques: [{ name: "template_documents_hash_unique", properties: ["organization", "sha256"] }],
  properties: {
    /** The `file_id` of jobs. */
    id: p.uuid().primary(),
    organization: () => p.manyToOne(Organization).ref().index(false),
    /** Of the normalized JSON text. */
    sha256: bytes(),
    /** With all defaults filled in. */
    content: p.json<Record<string, unknown>>(),
    createdAt: moment(),
  },
});
export class TemplateDocument extends TemplateDocumentSchema.class {}
TemplateDocumentSchema.setClass(TemplateDocument);

export const TemplateSchema = defineEntity({
  name: "Template",
  tableName: "templates",
  extends: BaseSchema,
  uniques: [
    {
      name: "templates_name_unique",
      expression:
        "create unique index templates_name_unique on templates (organization_id, lower(name)) where deleted_at is null",
    },
  ],
  indexes: [
    {
      name: "templates_page_index",
      expression:
        'create index templates_page_index on templates (lower(name) collate "C", id) where deleted_at is null',
    },
    {
      name: "templates_search_index",
      expression:
        'create index templates_search_index on templates using gin ((lower(name) collate "C") gin_trgm_ops, (lower(display_name) collate "C") gin_trgm_ops) where deleted_at is null',
    },
    {
      name: "templates_created_index",
      expression: "create index templates_created_index on templates (created_at, id) where deleted_at is null",
    },
  ],
  properties: {
    organization: () => p.manyToOne(Organization).ref().index(false),
    name: p.string().length(longestName),
    displayName: p.string().length(longestLabel).default(""),
    description: p.string().length(longestDescription).default(""),
    icon: p.string().length(longestUrl).default(""),
    creator: () => p.manyToOne(User).ref().index(false),
    /** The version of new workspaces; null until an import succeeded. References `template_versions`. */
    activeVersionId: p.uuid().nullable(),
    /** Number of the latest version, for default names. */
    versionCount: p.integer().default(0),
    /**
     * Workspaces that are not deleted, and those of them that run. Prebuilt ones without an owner do not count. The latest
     * changes are in `workspace_changes` until a job adds them.
     */
    workspaceCount: p.integer().default(0).lazy(),
    runningCount: p.integer().default(0).lazy(),
    /** Seconds that workspaces run after a start; 0 sets no limit. */
    defaultTtl: p.integer().default(0),
    /** Seconds that activity adds to the deadline. */
    activityBump: p.integer().default(3600),
    /** Days of the week (0 is Sunday) on which workspaces stop at the quiet hours of their owner. */
    autostopDays: p.array(Number, String).columnType("int[]").default([]),
    /** Whether owners may have their workspaces started by a schedule. */
    allowUserAutostart: p.boolean().default(true),
    /** Days of the week on which schedules start workspaces, in the time zone of each schedule. */
    autostartDays: p.array(Number, String).columnType("int[]").default([0, 1, 2, 3, 4, 5, 6]),
    /** Whether a start takes the active version by itself: as the owner of the workspace chose, or in any case. */
    automaticUpdates: p.enum(["never", "owners_choice", "always"]).default("owners_choice"),
    /** Seconds without use after which workspaces become dormant; 0 disables it. */
    dormantAfter: p.integer().default(0),
    /** Seconds of dormancy after which workspaces are deleted; 0 disables it. */
    deleteAfter: p.integer().default(0),
    /** Whether users may cancel the builds that they started. */
    allowUserCancel: p.boolean().default(true),
    /** Whether plain users start the active version only. */
    requireActiveVersion: p.boolean().default(false),
    /** Why no workspaces are created from it any more; empty unless it is deprecated. */
    deprecationMessage: p.string().length(longestDescription).default(""),
    deletedAt: moment().nullable(),
  },
});
export class Template extends TemplateSchema.class {}
TemplateSchema.setClass(Template);

export const TemplateVersionSchema = defineEntity({
  name: "TemplateVersion",
  tableName: "template_versions",
  extends: BaseSchema,
  uniques: [{ name: "template_versions_name_unique", properties: ["template", "name"] }],
  indexes: [
    { name: "template_versions_page_index", properties: ["template", "createdAt", "id"] },
    {
      name: "template_versions_key_index",
      expression:
        "create index template_versions_key_index on template_versions (variables_key_id, id) where variables_key_id is not null",
    },
  ],
  properties: {
    template: () => p.manyToOne(Template).ref().index(false),
    name: p.string().length(longestLabel),
    document: () => p.manyToOne(TemplateDocument).ref().index("template_versions_document_index"),
    creator: () => p.manyToOne(User).ref().index(false),
    /** The import. References `provisioner_jobs`. A version is usable once it has succeeded. */
    jobId: p.uuid(),
    /** Whether the import succeeded. Kept by the end of the job. */
    isImported: p.boolean().default(false),
    /** Whether a successful import makes this the active version. The first one always does. */
    activates: p.boolean().default(false),
    archivedAt: moment().nullable(),
    /** Values of the variables, as JSON; null without variables. */
    variablesCiphertext: bytes().nullable(),
    variablesNonce: bytes().nullable(),
    variablesKey: () => p.manyToOne(EncryptionKey).ref().nullable().index(false).deleteRule("no action"),
    /** The agent and the app of the AI task of the document; null without one. */
    taskAgent: p.string().length(longestName).nullable(),
    taskApp: p.string().length(longestName).nullable(),
    /** How its program speaks, if not by AgentAPI. */
    taskProtocol: p.enum(["agentapi", "acp"]).default("agentapi"),
    /** The options of the session of an ACP program; null without. */
    taskOptions: p.json<TaskOptions>().nullable(),
    hasExternalAgent: p.boolean().default(false),
  },
});
export class TemplateVersion extends TemplateVersionSchema.class {}
TemplateVersionSchema.setClass(TemplateVersion);

/** Named parameter values of template versions. */
export const TemplatePresetSchema = defineEntity({
  name: "TemplatePreset",
  tableName: "template_presets",
  uniques: [{ name: "template_presets_name_unique", properties: ["version", "name"] }],
  properties: {
    id: p.uuid().primary(),
    createdAt: moment(),
    version: () => p.manyToOne(TemplateVersion).ref().deleteRule("cascade").index(false),
    name: p.string().length(longestLabel),
    displayName: p.string().length(longestLabel).default(""),
    description: p.string().length(longestDescription).default(""),
    icon: p.string().length(longestUrl).default(""),
    isDefault: p.boolean().default(false),
    parameters: p.json<Record<string, string>>(),
    /** Number of prebuilt workspaces that are kept ready while no schedule says another one. */
    instances: p.integer().default(0),
    /** Other numbers by the time, of which the first that holds counts. */
    prebuildSchedules: p.json<Array<{ cron: string; timezone: string; instances: number }>>().default("[]"),
    /** The number that the schedules say now; null if none does. */
    scheduledInstances: p.integer().nullable(),
    /** Seconds after which unclaimed prebuilds are replaced; null for no limit. */
    prebuildTtl: p.integer().nullable(),
    /** Prebuilds that are older are replaced. */
    lastInvalidatedAt: moment().nullable(),
    prebuildStatus: p.enum(["healthy", "hard_limited"]).default("healthy"),
    /** Consecutive failures of prebuilds. */
    prebuildFailures: p.integer().default(0),
  },
});
export class TemplatePreset extends TemplatePresetSchema.class {}
TemplatePresetSchema.setClass(TemplatePreset);

/** Entries of the access lists of templates, each for a user or a group. Everyone has the ID of its organization. */
export const TemplateAclEntrySchema = defineEntity({
  name: "TemplateAclEntry",
  tableName: "template_acl_entries",
  uniques: [
    {
      name: "template_acl_entries_user_unique",
      expression:
        "create unique index template_acl_entries_user_unique on template_acl_entries (template_id, user_id) where user_id is not null",
    },
    {
      name: "template_acl_entries_group_unique",
      expression:
        "create unique index template_acl_entries_group_unique on template_acl_entries (template_id, group_id) where group_id is not null",
    },
  ],
  checks: [{ name: "template_acl_entries_subject_check", expression: "num_nonnulls(user_id, group_id) = 1" }],
  properties: {
    id: p.uuid().primary(),
    template: () => p.manyToOne(Template).ref().deleteRule("cascade").index(false),
    user: () => p.manyToOne(User).ref().nullable().deleteRule("cascade").index("template_acl_entries_user_index"),
    group: () => p.manyToOne(Group).ref().nullable().deleteRule("cascade").index("template_acl_entries_group_index"),
    role: p.enum(["use", "admin"]),
    createdAt: moment(),
  },
});
export class TemplateAclEntry extends TemplateAclEntrySchema.class {}
TemplateAclEntrySchema.setClass(TemplateAclEntry);
