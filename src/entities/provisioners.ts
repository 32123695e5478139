import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { Organization } from "./organizations.js";
import { TemplateDocument, TemplateVersion } from "./templates.js";
import { User } from "./users.js";
import { longestApiVersion, longestEmail, longestLabel, longestName, longestVersion } from "./lengths.js";

/** Maximum lengths of the error of a job and of the step that a line of its log is of, which the columns and the inputs have. */
export const longestJobError = 4096;
export const longestStage = 128;

const bytes = () => p.type("bytea").$type<Buffer>();

/** Keys of provisioner daemons. The reserved ones, `built-in` and `user-auth`, are not stored. */
export const ProvisionerKeySchema = defineEntity({
  name: "ProvisionerKey",
  tableName: "provisioner_keys",
  uniques: [
    { name: "provisioner_keys_secret_unique", properties: ["secretHash"] },
    {
      name: "provisioner_keys_name_unique",
      expression: "create unique index provisioner_keys_name_unique on provisioner_keys (organization_id, lower(name))",
    },
    {
      name: "provisioner_keys_former_secret_unique",
      expression:
        "create unique index provisioner_keys_former_secret_unique on provisioner_keys (former_secret_hash) where former_secret_hash is not null",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    organization: () => p.manyToOne(Organization).ref().deleteRule("cascade").index(false),
    name: p.string().length(longestLabel),
    /** SHA-256 of the key after its `stwk_` prefix. */
    secretHash: bytes(),
    tags: p.json<Record<string, string>>(),
    creator: () => p.manyToOne(User).ref().index(false),
    createdAt: moment(),
    /** When it got its secret, if not when it was created. */
    rotatedAt: moment().nullable(),
    /** When a daemon last used the secret, accurate to a minute. */
    lastUsedAt: moment().nullable(),
    /** The secret before the last rotation; null without one. It is valid until it ends. */
    formerSecretHash: bytes().nullable(),
    formerSecretEndsAt: moment().nullable(),
    formerSecretUsedAt: moment().nullable(),
  },
});
export class ProvisionerKey extends ProvisionerKeySchema.class {}
ProvisionerKeySchema.setClass(ProvisionerKey);

/** Programs that work on jobs. A daemon that reconnects with the same name keeps its row. */
export const ProvisionerDaemonSchema = defineEntity({
  name: "ProvisionerDaemon",
  tableName: "provisioner_daemons",
  uniques: [
    {
      name: "provisioner_daemons_name_unique",
      expression:
        "create unique index provisioner_daemons_name_unique on provisioner_daemons (organization_id, lower(name), owner_tag)",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    createdAt: moment(),
    organization: () => p.manyToOne(Organization).ref().deleteRule("cascade").index(false),
    name: p.string().length(longestLabel),
    /** The tag `owner`: the id of a user, or empty. */
    ownerTag: p.string().length(36).default(""),
    /** Null for the built-in daemon and for daemons of users. */
    key: () =>
      p.manyToOne(ProvisionerKey).ref().nullable().deleteRule("cascade").index("provisioner_daemons_key_index"),
    /** The user whose session it connected with; null with a key. */
    user: () => p.manyToOne(User).ref().nullable().deleteRule("cascade").index("provisioner_daemons_user_index"),
    provisioners: p.array().default([]),
    tags: p.json<Record<string, string>>(),
    version: p.string().length(longestVersion).default(""),
    apiVersion: p.string().length(longestApiVersion).default("1.0"),
    lastSeenAt: moment().index("provisioner_daemons_seen_index"),
    /** Names the current connection; null while it is not connected. */
    connectionId: p.uuid().nullable(),
  },
});
export class ProvisionerDaemon extends ProvisionerDaemonSchema.class {}
ProvisionerDaemonSchema.setClass(ProvisionerDaemon);

/**
 * Jobs. No index has the columns that change while a daemon works on a job, `status` and `lease_expires_at`, so that
 * these changes write no index.
 */
export const ProvisionerJobSchema = defineEntity({
  name: "ProvisionerJob",
  tableName: "provisioner_jobs",
  indexes: [
    {
      name: "provisioner_jobs_pending_index",
      expression:
        "create index provisioner_jobs_pending_index on provisioner_jobs (organization_id, priority, created_at, id) where worker_id is null and completed_at is null",
    },
    {
      name: "provisioner_jobs_held_index",
      expression:
        "create index provisioner_jobs_held_index on provisioner_jobs (worker_id) where worker_id is not null and completed_at is null",
    },
    {
      name: "provisioner_jobs_worker_index",
      expression:
        "create index provisioner_jobs_worker_index on provisioner_jobs (worker_id, completed_at desc, id desc)",
    },
    { name: "provisioner_jobs_page_index", properties: ["organization", "createdAt", "id"] },
    { name: "provisioner_jobs_initiator_index", properties: ["organization", "initiator", "createdAt", "id"] },
    {
      name: "provisioner_jobs_initiator_username_index",
      expression:
        'create index provisioner_jobs_initiator_username_index on provisioner_jobs (organization_id, lower(initiator_username collate "C"), created_at, id)',
    },
    {
      name: "provisioner_jobs_initiator_email_index",
      expression:
        'create index provisioner_jobs_initiator_email_index on provisioner_jobs (organization_id, lower(initiator_email collate "C"), created_at, id)',
    },
    {
      name: "provisioner_jobs_open_index",
      expression:
        "create index provisioner_jobs_open_index on provisioner_jobs (organization_id, created_at, id) where completed_at is null",
    },
    {
      name: "provisioner_jobs_failed_index",
      expression:
        "create index provisioner_jobs_failed_index on provisioner_jobs (organization_id, created_at, id) where status in ('failed', 'canceled')",
    },
    {
      name: "provisioner_jobs_type_index",
      expression:
        "create index provisioner_jobs_type_index on provisioner_jobs (organization_id, type, created_at, id) where workspace_build_id is null",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    createdAt: moment(),
    organization: () => p.manyToOne(Organization).ref().index(false),
    type: p.enum(["template_version_import", "workspace_build", "template_version_dry_run"]),
    status: p.enum(["pending", "running", "canceling", "succeeded", "failed", "canceled"]).default("pending"),
    provisioner: p.string().length(32),
    tags: p.json<Record<string, string>>(),
    /** Lower is earlier: 0 for people, 1 for prebuilds. */
    priority: p.smallint().default(0),
    initiator: () => p.manyToOne(User).ref().index(false),
    /** The names of the initiator at that time, set by a trigger. */
    initiatorUsername: p.string().length(longestName).nullable(),
    initiatorEmail: p.string().length(longestEmail).nullable(),
    document: () => p.manyToOne(TemplateDocument).ref().index(false),
    /** Of imports and dry runs. */
    version: () => p.manyToOne(TemplateVersion).ref().nullable().index("provisioner_jobs_version_index"),
    /** References `workspace_builds`. */
    workspaceBuildId: p.uuid().nullable(),
    /** Parameter values of dry runs. Builds have their own. */
    parameters: p.json<Record<string, string>>().nullable(),
    /** The only daemon that may take it. */
    pinnedDaemon: () => p.manyToOne(ProvisionerDaemon).ref().nullable().deleteRule("set null").index(false),
    /** The daemon that holds or ended it. */
    worker: () => p.manyToOne(ProvisionerDaemon).ref().nullable().deleteRule("set null").index(false),
    /** Remains when the daemon is deleted. */
    workerName: p.string().length(longestLabel).default(""),
    /** SHA-256 of the token with which the daemon reports; remains after the end, so that repeated calls are recognized. */
    leaseHash: bytes().nullable(),
    /** Until when a job that was handed out must be accepted, or a running one reported on. */
    leaseExpiresAt: moment().nullable(),
    /** A daemon that did not accept the job, and which receives it again only if there is no other. */
    refusedBy: p.uuid().nullable(),
    startedAt: moment().nullable(),
    /** When the cancellation was requested. */
    canceledAt: moment().nullable(),
    completedAt: moment().nullable(),
    error: p.string().length(longestJobError).default(""),
    errorCode: p.enum(["", "REQUIRED_TEMPLATE_VARIABLES", "INSUFFICIENT_QUOTA"]).default(""),
    /** Highest sequence number of its log, and its size in bytes. */
    logSequence: p.integer().default(0),
    logBytes: p.integer().default(0),
    logsOverflowed: p.boolean().default(false),
    /** SHA-256 of the reported resources; null before the report. */
    resourcesHash: bytes().nullable(),
  },
});
export class ProvisionerJob extends ProvisionerJobSchema.class {}
ProvisionerJobSchema.setClass(ProvisionerJob);

export const ProvisionerJobLogSchema = defineEntity({
  name: "ProvisionerJobLog",
  tableName: "provisioner_job_logs",
  properties: {
    job: () => p.manyToOne(ProvisionerJob).ref().primary().deleteRule("cascade"),
    sequence: p.integer().primary(),
    id: p.uuid(),
    createdAt: moment(),
    level: p.enum(["trace", "debug", "info", "warn", "error"]),
    source: p.enum(["provisioner_daemon", "provisioner"]),
    stage: p.string().length(longestStage).default(""),
    output: p.text(),
  },
});
export class ProvisionerJobLog extends ProvisionerJobLogSchema.class {}
ProvisionerJobLogSchema.setClass(ProvisionerJobLog);
