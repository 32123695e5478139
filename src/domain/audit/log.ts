import type { Context } from "../kernel/context.js";
import { AuditEvent } from "../../entities/audit.js";
import type { AuditAction } from "./audit.js";
import { requireAnyReach } from "../authorization/authorization.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import { requireFeature } from "../entitlements/requirements.js";
import { Problems } from "../kernel/errors.js";
import { countUpTo, mostCounted, type Order, rowsIn } from "../kernel/list.js";
import { findOrganization } from "../organizations/organizations.js";
import type { Page } from "../kernel/page.js";
import { cursor, type PageArguments, pageOf, readRange } from "../kernel/paging.js";
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

/** Orders newest first. A page may begin only at an event that the caller may read. */
const newestFirst = (isReadable: Sql): Order => ({
  keys: [
    {
      column: sql`e.time`,
      ofPlace: (id) => sql`(select e.time from audit_events e where e.id = ${id} and ${isReadable})`,
    },
  ],
  id: sql`e.id`,
  isDescending: true,
});

/** Lists audit events, newest first: all for auditors of the deployment, otherwise those of their organizations. */
export async function listAuditEvents(
  ctx: Context,
  filter: AuditEventFilter,
  page: Pick<PageArguments, "first" | "after">,
): Promise<Page<AuditEventRow>> {
  const { everywhere, organizations } = requireAnyReach(ctx.actor, "audit_log:read");
  requireFeature(ctx, "audit_log");
  const problems = new Problems();
  const range = readRange(page, ["time"], problems);
  problems.throwIfAny();
  const isReadable = everywhere ? sql`true` : inOrganizations(organizations);
  const matches = allOf(isReadable, await matching(ctx, filter));
  const select = (beyond?: Sql) => sql`
    select ${raw(columns)}, (select username from users where id = e.actor_id) as "actorUsername"
    from audit_events e where ${allOf(matches, beyond)}`;
  return pageOf(range, await ctx.select<AuditEventRow>(rowsIn(range, newestFirst(isReadable), select)), {
    cursor: ({ id, time }) => cursor(id, time),
    count: () => ctx.count(countUpTo(mostCounted, sql`select from audit_events e where ${matches}`)),
  });
}

async function matching(ctx: Context, filter: AuditEventFilter): Promise<Sql> {
  const [actorId, organizationId] = await Promise.all([
    filter.actor ? idNamed(ctx, filter.actor, findUser) : undefined,
    filter.organization ? idNamed(ctx, filter.organization, findOrganization) : undefined,
  ]);
  return allOf(
    given(actorId, (id) => sql`e.actor_id = ${id}`),
    given(filter.action, (action) => sql`e.action = ${action}`),
    given(filter.resourceType, (type) => sql`e.resource_type = ${type}`),
    given(filter.resourceId, (id) => sql`e.resource_id = ${isUuid(id) ? id.toLowerCase() : id}`),
    given(organizationId, (id) => sql`e.organization_id = ${id}`),
    given(filter.after, (time) => sql`e.time >= ${time}`),
    given(filter.before, (time) => sql`e.time <= ${time}`),
  );
}

/** Compares a single id by `=`: then, unlike for an array, Postgres reads the index in the order of time. */
const inOrganizations = (ids: readonly string[]): Sql =>
  ids.length === 1 ? sql`e.organization_id = ${ids[0]}` : sql`e.organization_id = any(${ids}::uuid[])`;

/** Deletes events after `STEWARD_AUDIT_RETENTION`; never if it is 0. */
export const auditPurge = purge("audit_events", {
  by: "time",
  keptFor: ({ auditRetention }) => auditRetention || Infinity,
});
