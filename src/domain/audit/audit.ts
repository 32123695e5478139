import { isDeepStrictEqual } from "node:util";
import type { Actor } from "../kernel/actor.js";
import type { RequestFacts } from "../kernel/request.js";
import { newId } from "../kernel/ids.js";
import { type Statement, statement } from "../kernel/database.js";

/** What can happen to a resource. */
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

/** Old and new values by field. */
export type Diff = Record<string, { old?: unknown; new?: unknown }>;

/** What happened to what. `diff` holds old and new values by field; secret values appear as `"***"`. */
export interface AuditEntry {
  action: AuditAction;
  /** The user who acted, where the request itself has no user yet: sign-in. */
  actorId?: string;
  resourceType: string;
  resourceId?: string;
  /** What a person would call the resource: a name, an e-mail. */
  resourceLabel?: string;
  organizationId?: string;
  diff?: Diff;
}

/** What `change` really changes about `before`. What it leaves out, by null or by absence, stays as it is. */
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

/** The insert of one audit event, for the transaction it tells of. */
export function auditStatement(
  ctx: { actor: Actor; request: RequestFacts },
  entry: AuditEntry,
): [Statement<unknown>, unknown[]] {
  const { actor, request } = ctx;
  return [
    insertAuditEvent,
    [
      newId(),
      entry.actorId ?? actor.userId ?? actor.machineId ?? null,
      entry.actorId ? "user" : actor.kind === "anonymous" ? "system" : actor.kind,
      actor.credential?.id ?? null,
      entry.action,
      entry.resourceType,
      entry.resourceId ?? null,
      entry.resourceLabel ?? null,
      entry.organizationId ?? null,
      entry.diff ?? {},
      request.id,
      request.ip ?? null,
      request.userAgent ?? null,
    ],
  ];
}
