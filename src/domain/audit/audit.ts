import { type Actor, idOf } from "../kernel/actor.js";
import { changesOf } from "../kernel/given.js";
import type { RequestDetails } from "../kernel/request.js";
import { newId } from "../kernel/ids.js";
import { sql } from "kysely";
import type { Database, Db } from "../../infrastructure/database/database.js";

/** The recorded actions on resources. */
export const AuditAction = {
  CREATE: "create",
  UPDATE: "update",
  DELETE: "delete",
  START: "start",
  STOP: "stop",
  LOGIN: "login",
  LOGIN_FAILED: "login_failed",
  LOGOUT: "logout",
  DELIVER: "deliver",
  AUTHORIZE: "authorize",
  DENY: "deny",
  REVOKE: "revoke",
} as const;
export type AuditAction = (typeof AuditAction)[keyof typeof AuditAction];

/** The fields of an audit entry that identify the resource. */
export const auditedAs = (type: string, id: string, label: string, organizationId?: string) => ({
  resourceType: type,
  resourceId: id,
  resourceLabel: label,
  organizationId,
});

/** Old and new values by field. */
export type Diff = Record<string, { old?: unknown; new?: unknown }>;

/** A recorded action. In `diff`, secret values appear as `"***"`. */
export interface AuditEntry {
  action: AuditAction;
  /** The user of a sign-in, whose request is anonymous. Default: the actor of the request. */
  actorId?: string;
  /** The OAuth2 application whose request, which is anonymous, has the effect. */
  actor?: { kind: "oauth_client"; id: string };
  resourceType: string;
  resourceId?: string;
  /** A readable name of the resource, such as a username or email. */
  resourceLabel?: string;
  organizationId?: string;
  diff?: Diff;
}

/** Returns the fields whose values `change` alters. Null and absent values alter nothing. */
export const diffOf = <Row extends object>(
  before: Partial<Row>,
  change: { [Field in keyof Row]?: Row[Field] | null },
): Diff => sidesOf(before, changesOf(before, change));

/** Returns the old and new value of each changed field. */
export const sidesOf = (before: object, changes: object): Diff =>
  Object.fromEntries(
    Object.entries(changes).map(([field, value]) => [field, { old: before[field as never], new: value }]),
  );

const columns = `id, time, actor_id, actor_kind, api_key_id, action, resource_type, resource_id, resource_label,
  organization_id, diff, request_id, ip, user_agent`;

/** An event by the columns of `audit_events`, except the time. */
type AuditRow = Readonly<Record<string, unknown>>;

/** Inserts audit events, in one statement for any number of them. */
export const insertAuditEvents = ({ db }: { db: Db }, events: readonly AuditRow[]): Promise<unknown> =>
  sql`
    insert into audit_events (${sql.raw(columns)})
    select ${sql.raw(columns.replace("time", "now()"))}
    from json_populate_recordset(null::audit_events, ${JSON.stringify(events)})`.execute(db);

/** Returns the row of an audit event, for the transaction of the action. */
export function auditRow(ctx: { actor: Actor; request: RequestDetails }, entry: AuditEntry): AuditRow {
  const { actor, request } = ctx;
  return {
    id: newId(),
    actor_id: entry.actor?.id ?? entry.actorId ?? (actor.kind === "scim_key" ? null : idOf(actor)),
    actor_kind: entry.actor?.kind ?? (entry.actorId ? "user" : actor.kind === "anonymous" ? "system" : actor.kind),
    api_key_id: keyOf(actor),
    action: entry.action,
    resource_type: entry.resourceType,
    resource_id: entry.resourceId,
    resource_label: entry.resourceLabel,
    organization_id: entry.organizationId,
    diff: actor.kind === "scim_key" ? { ...entry.diff, source: { new: actor.source } } : (entry.diff ?? {}),
    request_id: request.id,
    ip: request.ip,
    user_agent: request.userAgent,
  };
}

/** Inserts an audit event outside of a transaction. */
export const auditAtOnce = (
  ctx: { actor: Actor; request: RequestDetails; services: { database: Pick<Database, "db"> } },
  entry: AuditEntry,
): Promise<unknown> => insertAuditEvents(ctx.services.database, [auditRow(ctx, entry)]);

/** The public part of the key that authenticated the request. */
const keyOf = (actor: Actor): string | null =>
  actor.kind === "user" ? actor.credential.id : actor.kind === "scim_key" ? actor.id : null;
