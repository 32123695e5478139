import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { longestEmail, longestName } from "./lengths.js";

/** Audit log, partitioned by month (`infrastructure/database/months.ts`). Append-only: only the retention job deletes rows. */
export const AuditEventSchema = defineEntity({
  name: "AuditEvent",
  tableName: "audit_log",
  indexes: [
    { name: "audit_log_time_index", properties: ["time", "id"] },
    { name: "audit_log_organization_index", properties: ["organizationId", "time", "id"] },
    { name: "audit_log_resource_index", properties: ["resourceId", "time", "id"] },
    { name: "audit_log_resource_type_index", properties: ["resourceType", "time", "id"] },
    {
      name: "audit_log_organization_type_index",
      properties: ["organizationId", "resourceType", "time", "id"],
    },
    { name: "audit_log_organization_action_index", properties: ["organizationId", "action", "time", "id"] },
    { name: "audit_log_actor_index", properties: ["actorId", "time", "id"] },
    {
      name: "audit_log_actor_username_index",
      expression:
        'create index audit_log_actor_username_index on audit_log (lower(actor_username collate "C"), time, id) where actor_username is not null',
    },
    {
      name: "audit_log_actor_email_index",
      expression:
        'create index audit_log_actor_email_index on audit_log (lower(actor_email collate "C"), time, id) where actor_email is not null',
    },
    { name: "audit_log_action_index", properties: ["action", "time", "id"] },
    {
      name: "audit_log_scim_key_index",
      expression:
        "create index audit_log_scim_key_index on audit_log (api_key_id, time, id) where actor_kind = 'scim_key'",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    time: moment(),
    actorId: p.uuid().nullable(),
    actorKind: p.string().length(16),
    /**
     * The names of a user who acted at that time, set by a trigger. Empty if they were not known any more when the
     * columns were added.
     */
    actorUsername: p.string().length(longestName).nullable(),
    actorEmail: p.string().length(longestEmail).nullable(),
    apiKeyId: p.string().length(16).nullable(),
    action: p.string().length(16),
    resourceType: p.string().length(32),
    /** Text, since the IDs of some resources are not UUIDs. */
    resourceId: p.string().length(64).nullable(),
    resourceLabel: p.string().length(254).nullable(),
    organizationId: p.uuid().nullable(),
    /** `{field: {old, new}}`; secret values are `"***"`. */
    diff: p.json<Record<string, { old?: unknown; new?: unknown }>>(),
    requestId: p.string().length(128),
    ip: p.string().length(45).nullable(),
    userAgent: p.string().length(512).nullable(),
  },
});
export class AuditEvent extends AuditEventSchema.class {}
AuditEventSchema.setClass(AuditEvent);

/** The count of a quarter of an hour, for the charts of past days; no row if it is 0. A job counts them. */
export const QuarterHourCountSchema = defineEntity({
  name: "QuarterHourCount",
  tableName: "quarter_hour_counts",
  properties: {
    /** The name of a series of `domain/audit/daily-counts.ts`. */
    series: p.string().length(32).primary(),
    beginsAt: moment().primary(),
    /** The organization; zeros for what belongs to none. */
    organizationId: p.uuid().primary(),
    count: p.integer(),
  },
});
export class QuarterHourCount extends QuarterHourCountSchema.class {}
QuarterHourCountSchema.setClass(QuarterHourCount);
