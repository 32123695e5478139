import { type InferResult, sql, type SqlBool } from "kysely";
import { selectPermitted, requireAnyPermitted } from "../authorization/authorization.js";
import { requireFeature } from "../entitlements/requirements.js";
import type { Context } from "../kernel/context.js";
import { timesOfIds } from "../kernel/months.js";
import { anyOf } from "../kernel/queries.js";
import { defineList, idNamed, inOrganizations, time } from "../kernel/lists.js";
import {
  listArguments,
  type OrderBy,
  OrderDirection,
  orderOf,
  type Page,
  type PageArguments,
} from "../kernel/paging.js";
import { purgeMonths } from "../../infrastructure/database/months.js";
import { isUuid } from "../../runtime/text.js";
import { findOrganization } from "../organizations/organizations.js";
import { byKeptNames, keptNames } from "../users/kept-names.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Db } from "../../infrastructure/database/database.js";
import { plannedForValues } from "../../infrastructure/database/dialect.js";
import { AuditAction } from "../kernel/audit.js";
import { choice, inputOf, type Input, dateTime, optional, pasted, reference, string } from "../kernel/values.js";

const e = columnsOf("auditLog", "e");

const eventsIn = (db: Db) =>
  db
    .selectFrom("auditLog as e")
    .select([
      "e.id",
      "e.time",
      "e.actorId",
      "e.actorKind",
      "e.apiKeyId",
      "e.action",
      "e.resourceType",
      "e.resourceId",
      "e.resourceLabel",
      "e.organizationId",
      "e.diff",
      "e.requestId",
      "e.ip",
      "e.userAgent",
    ])
    .select(sql<string | null>`nullif(${e.actorUsername}, '')`.as("actorUsername"))
    .$narrowType<{ action: AuditAction }>();

/** The events that the caller may read: all, or those of organizations. */
function readableEvents(ctx: Context) {
  const { everywhere, organizations } = selectPermitted(ctx.actor, "audit_log:read");
  return eventsIn(ctx.db).$if(!everywhere, (all) => all.where(inOrganizations("e.organizationId", organizations)));
}

/** An audit event as readable in the log, with the username that the user who acted had then. */
export type AuditEventRow = InferResult<ReturnType<typeof readableEvents>>[number];

/** Filters of audit events. An absent filter does not narrow. */
export const AuditEventFilter = inputOf({
  actor: optional(pasted(reference), "User who acted: ID, username or email address then, or `me`."),
  action: optional(choice(AuditAction), "The action."),
  resourceType: optional(string, "Type of the affected resource."),
  resourceId: optional(string, "ID of the affected resource."),
  organization: optional(reference, "Organization of the resource: ID, name, or `default`."),
  scimKey: optional(string, "ID of the SCIM key that acted."),
  after: optional(dateTime, "Events at or after this time."),
  before: optional(dateTime, "Events at or before this time."),
});
export type AuditEventFilter = Input<typeof AuditEventFilter>;

export const AuditEventOrderField = { TIME: "time" } as const;
export type AuditEventOrderField = (typeof AuditEventOrderField)[keyof typeof AuditEventOrderField];

export const AuditEventOrder = orderOf(AuditEventOrderField);
export const AuditEventsQuery = listArguments(AuditEventFilter, AuditEventOrder, "by time, descending");
export type AuditEventsQuery = Input<typeof AuditEventsQuery>;

const eventList = defineList(readableEvents, {
  id: { column: "e.id", of: ({ id }) => id },
  orders: { [AuditEventOrderField.TIME]: { time: time("e.time") } },
  // Each has an index in the order of times, and so have organizations with an action or a type.
  filters: {
    actor: byKeptNames({ id: "e.actorId", username: "e.actorUsername", email: "e.actorEmail" }),
    action: (eb, action: AuditAction) => eb("e.action", "=", action),
    resourceType: (eb, type: string) => eb("e.resourceType", "=", type),
    resourceId: (eb, id: string) => eb("e.resourceId", "=", id),
    organization: (eb, organization: string) => eb("e.organizationId", "=", organization),
    scimKey: (eb, key: string) => eb.and([eb("e.actorKind", "=", sql.lit("scim_key")), eb("e.apiKeyId", "=", key)]),
    after: (eb, after: string) => eb("e.time", ">=", after),
    before: (eb, before: string) => eb("e.time", "<=", before),
    ids: (eb, ids: string[]) => eb("e.id", "=", anyOf(ids)),
  },
  mayUseStandby: true,
  months: {
    table: "audit_log",
    first: 2,
    period: ({ after, before, ids }) => (ids ? timesOfIds(ids) : { after, before }),
  },
  planned: ["actor", "action", "resourceType", "resourceId", "organization", "scimKey", "ids"],
});

/** A filter whose references are resolved. */
type EventFilter = NonNullable<Parameters<typeof eventList.page>[1]["filter"]>;

/** Resolves the references of a filter, for callers who may read the log. Throws FORBIDDEN for others. */
export async function filterOfReader(
  ctx: Context,
  { actor, organization, resourceId, ...others }: AuditEventFilter,
): Promise<EventFilter> {
  requireAnyPermitted(ctx.actor, "audit_log:read");
  requireFeature(ctx, "audit_log");
  return {
    ...others,
    actor: actor ? keptNames(ctx, [actor]) : null,
    organization: organization ? await idNamed(ctx, organization, findOrganization) : null,
    resourceId: resourceId && isUuid(resourceId) ? resourceId.toLowerCase() : resourceId,
  };
}

/** The condition that an event `e` has one of some ids, at least one. Planned for its values, other months are neither read nor locked. */
export function isAmong(ids: readonly string[]) {
  const sorted = ids.toSorted();
  return sql<SqlBool>`e.id = any(${ids}::uuid[]) and e.id between ${sorted[0]}::uuid and ${sorted.at(-1)}::uuid`;
}

/** Reads events by their ids, at least one, for the server itself. */
export async function storedEvents(db: Db, ids: string[]): Promise<Map<string, StoredEvent>> {
  const events = await eventsIn(db)
    .select("e.actorEmail")
    .where(isAmong(ids))
    .modifyEnd(sql.raw(plannedForValues))
    .execute();
  return new Map(events.map((event) => [event.id, event]));
}

/** An event as it is stored. */
export type StoredEvent = AuditEventRow & { actorEmail: string | null };

/** Lists audit events, by default newest first: all for auditors of the deployment, otherwise those of their organizations. */
export async function listAuditEvents(
  ctx: Context,
  filter: AuditEventFilter,
  page: PageArguments,
  orderBy: OrderBy<AuditEventOrderField> | null | undefined,
): Promise<Page<AuditEventRow>> {
  const resolved = await filterOfReader(ctx, filter);
  const order = orderBy ?? { field: AuditEventOrderField.TIME, direction: OrderDirection.DESC };
  return eventList.page(ctx, { filter: resolved, orderBy: order, page });
}

/** Reads those of some events, at least one, that match a filter and that the caller may read. By their ids. */
export async function readEvents(
  ctx: Context,
  filter: EventFilter,
  ids: string[],
): Promise<Map<string, AuditEventRow>> {
  const { nodes } = await eventList.page(ctx, { filter: { ...filter, ids }, most: ids.length });
  return new Map(nodes.map((event) => [event.id, event]));
}

/** Deletes events after `STEWARD_AUDIT_RETENTION`; never if it is 0. */
export const auditPurge = purgeMonths("audit_log", {
  by: "time",
  keptFor: ({ auditRetention }) => auditRetention || Infinity,
});
