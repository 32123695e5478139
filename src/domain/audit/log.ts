import type { Context } from "../kernel/context.js";
import { AuditEvent } from "../../entities/audit.js";
import type { AuditAction } from "./audit.js";
import { requireAnyReach } from "../authorization/authorization.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import { requireFeature } from "../entitlements/requirements.js";
import { Problems } from "../kernel/errors.js";
import { countIn, type Fixed, type Order, rowsIn } from "../kernel/list.js";
import { findOrganization } from "../organizations/organizations.js";
import type { Page } from "../kernel/page.js";
import { cursor, type OrderBy, OrderDirection, type PageArguments, pageOf, readRange } from "../kernel/paging.js";
import { purge } from "../kernel/purge.js";
import { idNamed } from "../kernel/references.js";
import { allOf, given, raw, type Sql, sql } from "../kernel/sql.js";
import { isUuid } from "../kernel/text.js";
import { findUser } from "../users/users.js";

const columns = columnsOf(AuditEvent, "e", [
  "id",
  "time",
  "actorId",
  "actorKind",
  "apiKeyId",
  "action",
  "resourceType",
  "resourceId",
  "resourceLabel",
  "organizationId",
  "diff",
  "requestId",
  "ip",
  "userAgent",
]);

/** An audit event as readable in the log. */
export interface AuditEventRow extends RowOf<typeof columns> {
  action: AuditAction;
  /** The current username of the user who acted. */
  actorUsername: string | null;
}

/** Filters of audit events. An absent filter does not narrow. */
export interface AuditEventFilter {
  /** Id of a user, which may be deleted; username; or `me`. */
  actor?: string | null;
  action?: AuditAction | null;
  resourceType?: string | null;
  resourceId?: string | null;
  /** Id of an organization, which may be deleted; name; or `default`. */
  organization?: string | null;
  after?: string | null;
  before?: string | null;
}

export const AuditEventOrderField = { TIME: "time" } as const;
export type AuditEventOrderField = (typeof AuditEventOrderField)[keyof typeof AuditEventOrderField];

/** Orders by time. A page may begin only at an event that the caller may read. */
const byTime = (fixed: readonly Fixed[], isReadable: Sql, isDescending: boolean): Order => ({
  fixed,
  keys: [
    {
      column: sql`e.time`,
      ofPlace: (id) => sql`(select e.time from audit_events e where e.id = ${id} and ${isReadable})`,
    },
  ],
  id: sql`e.id`,
  isDescending,
});

/** Lists audit events, by default newest first: all for auditors of the deployment, otherwise those of their organizations. */
export async function listAuditEvents(
  ctx: Context,
  filter: AuditEventFilter,
  page: PageArguments,
  orderBy: OrderBy<AuditEventOrderField> | null | undefined,
): Promise<Page<AuditEventRow>> {
  const { everywhere, organizations } = requireAnyReach(ctx.actor, "audit_log:read");
  requireFeature(ctx, "audit_log");
  const problems = new Problems();
  const range = readRange(page, { time: "time" }, problems);
  problems.throwIfAny();
  const isReadable = everywhere ? sql`true` : sql`e.organization_id = any(${organizations}::uuid[])`;
  const ids = await idsIn(ctx, filter);
  // A caller who may read several organizations filters by the ids of all of them.
  const onlyReadable = everywhere || organizations.length > 1 ? undefined : organizations[0];
  const wanted = { ...filter, ...ids, organization: ids.organization ?? onlyReadable };
  const fixed = fixedBy(wanted);
  const isOfReadable = wanted.organization && organizations.includes(wanted.organization);
  const matches = allOf(isOfReadable ? undefined : isReadable, matching(wanted, fixed));
  const order = byTime(fixed, isReadable, orderBy?.direction !== OrderDirection.ASC);
  const selected = sql`${raw(columns)}, (select username from users where id = e.actor_id) as "actorUsername"`;
  const from = (beyond?: Sql) => sql`from audit_events e where ${allOf(matches, beyond)}`;
  const select = (beyond?: Sql) => sql`select ${selected} ${from(beyond)}`;
  return pageOf(range, await ctx.select<AuditEventRow>(rowsIn(range, order, select, from)), {
    cursor: ({ id, time }) => cursor(id, { time }),
    count: () => ctx.count(countIn(order, (more) => sql`select ${from(more)}`)),
  });
}

/** Finds the objects that a filter names. */
async function idsIn(ctx: Context, { actor, organization, resourceId }: AuditEventFilter) {
  const [actorId, organizationId] = await Promise.all([
    actor ? idNamed(ctx, actor, findUser) : undefined,
    organization ? idNamed(ctx, organization, findOrganization) : undefined,
  ]);
  const isId = resourceId && isUuid(resourceId);
  return { actor: actorId, organization: organizationId, resourceId: isId ? resourceId.toLowerCase() : resourceId };
}

const columnOf = {
  actor: sql`e.actor_id`,
  action: sql`e.action`,
  resourceType: sql`e.resource_type`,
  resourceId: sql`e.resource_id`,
  organization: sql`e.organization_id`,
} satisfies Partial<Record<keyof AuditEventFilter, Sql>>;

const equal = Object.keys(columnOf) as Array<keyof typeof columnOf>;

/** The leading columns of indexes, the most selective index first. */
const indexes = [
  ["resourceId"],
  ["actor"],
  ["organization", "action"],
  ["action"],
  ["organization", "resourceType"],
  ["resourceType"],
  ["organization"],
] as const;

/** The leading columns of the most selective index that serves a filter. */
function fixedBy(filter: AuditEventFilter): Fixed[] {
  const index = indexes.find((keys) => keys.every((key) => filter[key])) ?? [];
  return index.map((key) => ({ column: columnOf[key], value: filter[key]! }));
}

const matching = (filter: AuditEventFilter, fixed: readonly Fixed[]): Sql =>
  allOf(
    ...equal
      .filter((key) => !fixed.some(({ column }) => column === columnOf[key]))
      .map((key) => given(filter[key], (value) => sql`${columnOf[key]} = ${value}`)),
    given(filter.after, (time) => sql`e.time >= ${time}`),
    given(filter.before, (time) => sql`e.time <= ${time}`),
  );

/** Deletes events after `STEWARD_AUDIT_RETENTION`; never if it is 0. */
export const auditPurge = purge("audit_events", {
  by: "time",
  keptFor: ({ auditRetention }) => auditRetention || Infinity,
});
