import type { Context } from "../kernel/context.js";
import type { AuditAction, Diff } from "./audit.js";
import { requireAnyReach } from "../authorization/authorization.js";
import { plannedEachTime } from "../kernel/database.js";
import { requireFeature } from "../entitlements/requirements.js";
import { Problems } from "../kernel/errors.js";
import { findOrganization } from "../organizations/organizations.js";
import type { Page } from "../kernel/page.js";
import { cursor, type PageArguments, pageOf, readRange } from "../kernel/paging.js";
import { isUuid } from "../kernel/text.js";
import { findUser } from "../users/users.js";

/** Something that happened, as readers of the log see it. */
export interface AuditEventRow {
  id: string;
  time: string;
  actorId: string | null;
  /** What the user who acted is called today. */
  actorUsername: string | null;
  actorKind: string;
  apiKeyId: string | null;
  action: AuditAction;
  resourceType: string;
  resourceId: string | null;
  resourceLabel: string | null;
  organizationId: string | null;
  diff: Diff;
  requestId: string;
  ip: string | null;
  userAgent: string | null;
}

/** Which events are wanted. What is absent does not narrow. */
export interface AuditEventFilter {
  /** A user by id, deleted ones too, or by name. */
  actor?: string | null;
  action?: AuditAction | null;
  resourceType?: string | null;
  resourceId?: string | null;
  /** An organisation by id, deleted ones too, or by name. */
  organization?: string | null;
  after?: string | null;
  before?: string | null;
}

const matching = `from audit_events e
  where ($1 or e.organization_id = any($2::uuid[]))
    and ($3::uuid is null or e.actor_id = $3)
    and ($4::text is null or e.action = $4)
    and ($5::text is null or e.resource_type = $5)
    and ($6::text is null or e.resource_id = $6)
    and ($7::uuid is null or e.organization_id = $7)
    and ($8::timestamptz is null or e.time >= $8)
    and ($9::timestamptz is null or e.time <= $9)`;

const newestFirst = plannedEachTime<AuditEventRow>(`
  select e.id, e.time, e.actor_id as "actorId", (select username from users where id = e.actor_id) as "actorUsername",
    e.actor_kind as "actorKind", e.api_key_id as "apiKeyId", e.action, e.resource_type as "resourceType",
    e.resource_id as "resourceId", e.resource_label as "resourceLabel", e.organization_id as "organizationId", e.diff,
    e.request_id as "requestId", e.ip, e.user_agent as "userAgent"
  ${matching}
    and ($11::uuid is null or
      (e.time, e.id) < (coalesce($10::timestamptz, (select place.time from audit_events place
        where place.id = $11 and ($1 or place.organization_id = any($2::uuid[])))), $11))
  order by e.time desc, e.id desc limit $12`);

const countMatching = plannedEachTime<{ count: number }>(`select count(*) ${matching}`);

/** What happened, newest first: everything to those who audit the deployment, else what concerns their organisations. */
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
  const { actor, action, resourceType, resourceId, organization, after, before } = filter;
  const actorId = await idOf(ctx, actor, findUser);
  // A list of one would not be read by its index in the order of time.
  const only = everywhere || organizations.length > 1 ? undefined : organizations[0];
  const organizationId = (await idOf(ctx, organization, findOrganization)) ?? only;
  const resource = resourceId && isUuid(resourceId) ? resourceId.toLowerCase() : resourceId;
  const values = [everywhere, organizations, actorId, action, resourceType, resource, organizationId, after, before];
  const { place, limit } = range;
  const rows = await ctx.rows(newestFirst, ...values, place?.keys?.[0], place?.id, limit + 1);
  return pageOf(range, rows, {
    cursor: ({ id, time }) => cursor(id, time),
    count: async () => (await ctx.row(countMatching, ...values))?.count ?? 0,
  });
}

/** An id stands for itself, whether or not there is something that has it. */
async function idOf(
  ctx: Context,
  ref: string | null | undefined,
  find: (ctx: Context, ref: string) => Promise<{ id: string }>,
): Promise<string | undefined> {
  if (!ref) return undefined;
  return isUuid(ref) ? ref : (await find(ctx, ref)).id;
}
