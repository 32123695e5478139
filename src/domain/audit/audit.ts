import { isDeepStrictEqual } from "node:util";
import { type Actor, idOf } from "../kernel/actor.js";
import type { RequestDetails } from "../kernel/request.js";
import { newId } from "../kernel/ids.js";
import { type Statement, statement } from "../kernel/database.js";

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
export function diffOf<Row extends object>(
  before: Partial<Row>,
  change: { [Field in keyof Row]?: Row[Field] | null },
): Diff {
  const diff: Diff = {};
  for (const [field, value] of Object.entries(change)) {
    const old = before[field as keyof Row];
    if (value != null && !isDeepStrictEqual(value, old)) diff[field] = { old, new: value };
  }
  return diff;
}

const insertAuditEvent = statement(`
  insert into audit_events (id, time, actor_id, actor_kind, api_key_id, action, resource_type, resource_id,
    resource_label, organization_id, diff, request_id, ip, user_agent)
  values ($1, now(), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`);

/** Returns the statement that inserts an audit event, for the transaction of the action. */
export function auditStatement(
  ctx: { actor: Actor; request: RequestDetails },
  entry: AuditEntry,
): [Statement<unknown>, unknown[]] {
  const { actor, request } = ctx;
  return [
    insertAuditEvent,
    [
      newId(),
      entry.actor?.id ?? entry.actorId ?? (actor.kind === "scim_key" ? null : idOf(actor)) ?? null,
      entry.actor?.kind ?? (entry.actorId ? "user" : actor.kind === "anonymous" ? "system" : actor.kind),
      keyOf(actor),
      entry.action,
      entry.resourceType,
      entry.resourceId ?? null,
      entry.resourceLabel ?? null,
      entry.organizationId ?? null,
      actor.kind === "scim_key" ? { ...entry.diff, source: { new: actor.source } } : (entry.diff ?? {}),
      request.id,
      request.ip ?? null,
      request.userAgent ?? null,
    ],
  ];
}

/** The public part of the key that authenticated the request. */
const keyOf = (actor: Actor): string | null =>
  actor.kind === "user" ? actor.credential.id : actor.kind === "scim_key" ? actor.id : null;
