import { type Actor, idOf } from "./actor.js";
import { changesOf } from "./changed-fields.js";
import type { RequestDetails } from "./request.js";
import { newId } from "./ids.js";
import { sql } from "kysely";
import type { Database, Db } from "../../infrastructure/database/database.js";
import { isDeepStrictEqual } from "node:util";
import {
  type ChangeSet,
  ChangeSetType,
  type EntityManager,
  type EntityProperty,
  type EventManager,
  type EventSubscriber,
  type FlushEventArgs,
  type Platform,
  Reference,
} from "@mikro-orm/core";

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

/** An event by the columns of `audit_log`, except the time. */
type AuditRow = Readonly<Record<string, unknown>>;

/** Inserts audit events, in one statement for any number of them. */
export const insertAuditEvents = ({ db }: { db: Db }, events: readonly AuditRow[]): Promise<unknown> =>
  sql`
    insert into audit_log (${sql.raw(columns)})
    select ${sql.raw(columns.replace("time", "now()"))}
    from json_populate_recordset(null::audit_log, ${JSON.stringify(events)})`.execute(db);

/** The caller as events name it. The id of a SCIM key is no UUID. */
export const recordedActor = ({ actor }: { actor: Actor }) => ({
  kind: actor.kind === "anonymous" ? "system" : actor.kind,
  id: (actor.kind === "scim_key" ? null : idOf(actor)) ?? null,
});

/** Returns the row of an audit event, for the transaction of the action. */
export function auditRow(ctx: { actor: Actor; request: RequestDetails }, entry: AuditEntry): AuditRow {
  const { actor, request } = ctx;
  const recorded = recordedActor(ctx);
  return {
    id: newId(),
    actor_id: entry.actor?.id ?? entry.actorId ?? recorded.id,
    actor_kind: entry.actor?.kind ?? (entry.actorId ? "user" : recorded.kind),
    api_key_id: keyOf(actor),
    action: entry.action,
    resource_type: entry.resourceType,
    resource_id: entry.resourceId,
    resource_label: entry.resourceLabel,
    organization_id: entry.organizationId,
    diff: { ...entry.diff, ...meansOf(actor, request) },
    request_id: request.id,
    ip: request.ip,
    user_agent: request.userAgent,
  };
}

/** By which means a caller acted, besides its credential: the provider of a SCIM key, or the tool that a program called. */
function meansOf(actor: Actor, { tool }: RequestDetails): Diff {
  if (actor.kind === "scim_key") return { source: { new: actor.source } };
  if (actor.kind !== "user" || tool === undefined) return {};
  return { mcp: { new: { tool, client: actor.credential.oauth?.clientId ?? null } } };
}

/** Gives audit events their numbers, by which streams resume. */
export interface AuditNumbers {
  start(): void;
  /** To be called after the commit of an event. Never throws or waits. */
  readonly soon: () => void;
}

/** Inserts an audit event outside of a transaction. */
export async function auditAtOnce(
  ctx: {
    actor: Actor;
    request: RequestDetails;
    services: { database: Pick<Database, "db">; auditNumbers: AuditNumbers };
  },
  entry: AuditEntry,
): Promise<void> {
  await insertAuditEvents(ctx.services.database, [auditRow(ctx, entry)]);
  ctx.services.auditNumbers.soon();
}

/** The public part of the key that authenticated the request. */
const keyOf = (actor: Actor): string | null =>
  actor.kind === "user" ? actor.credential.id : actor.kind === "scim_key" ? actor.id : null;

type FieldOf<Entity> = keyof Entity & string;

/** How changes of an entity appear in the audit log. */
interface Audited<Entity> {
  /** The type, the id, the label before the change, and the organization of the resource. */
  resource: (
    entity: Entity,
    before: <Name extends FieldOf<Entity>>(field: Name) => Entity[Name],
  ) => Pick<AuditEntry, "resourceType" | "resourceId" | "resourceLabel" | "organizationId">;
  /** The properties whose old and new values are recorded; references by the id of what they refer to. */
  fields: ReadonlyArray<FieldOf<Entity>>;
  /** Names in the log that differ from those of properties. */
  names?: { readonly [Name in FieldOf<Entity>]?: string };
  /**
   * Secrets, recorded as `"***"` unless they are empty: by the name in the log, the property that changes with the
   * secret.
   */
  secrets?: Readonly<Record<string, FieldOf<Entity>>>;
  /** How deletions are recorded, if not as `delete` with all fields and secrets. Setting `deletedAt` counts as one. */
  deletion?: { action?: AuditAction; fields: ReadonlyArray<FieldOf<Entity>> };
}

/** The declarations by class, not by its name: a bundler renames classes whose names collide. */
const audited = new Map<object, Audited<object>>();

/** Declares that the audit log records all changes of an entity that mutations flush. */
export function auditChangesOf<Entity extends object>(entity: new () => Entity, how: Audited<Entity>): void {
  audited.set(entity, how as unknown as Audited<object>);
}

const additions = new WeakMap<object, Diff>();

/** Records what is no column of an entity, such as its members, with the change of it that the next flush writes. */
export const auditWith = (entity: object, diff: Diff): void => void additions.set(entity, diff);

type Recorder = (entry: AuditEntry) => void;

const recorders = new WeakMap<EntityManager, Recorder>();
const subscribed = new WeakSet<EventManager>();

/** Records what the entity manager of a mutation flushes. */
export function recordFlushes(em: EntityManager, record: Recorder): void {
  recorders.set(em, record);
  const events = em.getEventManager();
  if (subscribed.has(events)) return;
  subscribed.add(events);
  events.registerSubscriber(subscriber);
}

const subscriber: EventSubscriber = {
  onFlush({ em, uow }: FlushEventArgs) {
    for (const change of uow.getChangeSets()) {
      const how = audited.get(change.meta.class);
      if (!how) continue;
      const action = actionOf(change);
      const before = valuesBefore(change, em.getPlatform());
      const diff = { ...diffOfChange(change, how, before), ...additions.get(change.entity) };
      additions.delete(change.entity);
      if (action !== "update" || Object.keys(diff).length > 0)
        recorders.get(em)!({
          action: (action === "delete" && how.deletion?.action) || action,
          ...how.resource(change.entity, (field) => before(field) ?? change.entity[field]),
          diff,
        });
    }
  },
};

const isRemoval = ({ type }: ChangeSet<object>): boolean =>
  type === ChangeSetType.DELETE || type === ChangeSetType.DELETE_EARLY;

function actionOf(change: ChangeSet<object>): "create" | "update" | "delete" {
  if (isRemoval(change) || (change.payload as Values).deletedAt) return "delete";
  return change.type === ChangeSetType.CREATE ? "create" : "update";
}

/** Reads the values before a change, which are kept as the database has them: 64-bit integers as text. */
function valuesBefore(change: ChangeSet<object>, platform: Platform) {
  return (field: string): unknown => {
    // The row before a removal is that of the entity, which has to be loaded.
    if (isRemoval(change)) return valueOf((change.entity as Values)[field]);
    const old = (change.originalEntity as Values | undefined)?.[field];
    const { customType } = change.meta.properties[field as never] as EntityProperty;
    return old == null || !customType ? old : customType.convertToJSValue(old, platform);
  };
}

type Values = Record<string, unknown>;

/** The value of a property; of a reference, the id of what it refers to. */
const valueOf = (value: unknown): unknown => (Reference.isReference<{ id: string }>(value) ? value.unwrap().id : value);

type Sides = Diff[string];

function diffOfChange(
  change: ChangeSet<object>,
  { fields, names = {}, secrets = {}, deletion }: Audited<object>,
  before: (field: string) => unknown,
): Diff {
  const action = actionOf(change);
  const sidesIn = (field: string): Sides | undefined => {
    const old = before(field);
    const now = valueOf((change.entity as Values)[field]);
    if (action === "delete") return { old };
    if (action === "create") return now == null ? undefined : { new: now };
    return field in change.payload && !isDeepStrictEqual(now, old) ? { old, new: now } : undefined;
  };
  const isDeletion = action === "delete" && deletion;
  const shown = (isDeletion ? deletion.fields : fields).map((field) => [
    (names as Record<string, string>)[field] ?? field,
    sidesIn(field),
  ]);
  const hidden = Object.entries(isDeletion ? {} : secrets).map(([name, field]) => [name, maskSecrets(sidesIn(field))]);
  return Object.fromEntries([...shown, ...hidden].filter(([, sides]) => sides)) as Diff;
}

/** Hides values; `undefined` if the only one is empty. */
function maskSecrets(sides: Sides | undefined): Sides | undefined {
  const values = Object.entries(sides ?? {});
  if (values.length === 1 && !values[0]![1]) return undefined;
  return sides && Object.fromEntries(values.map(([side]) => [side, "***"]));
}
