import { type InferResult, sql } from "kysely";
import { authorize, may, requireAnyPermitted, selectPermitted, visible } from "../authorization/authorization.js";
import { requireFeature } from "../entitlements/requirements.js";
import type { UserActor } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { defineList, idNamed, inOrganizations, text } from "../kernel/lists.js";
import { OrderDirection, type Page, PageArguments } from "../kernel/paging.js";
import { anyOf, foldedColumn, rowById, rowsByKey } from "../kernel/queries.js";
import { choice, type Input, inputOf, optional, reference } from "../kernel/values.js";
import { findOrganization } from "../organizations/organizations.js";
import type { Db } from "../../infrastructure/database/database.js";
import { foldCase, isUuid } from "../../runtime/text.js";
import type { Hint } from "../../runtime/events.js";

/** The hint that events may be due, or are to be queued. */
export const endpointsHint: Hint = { topic: "event_endpoints", id: "due" };

/** Whether events are delivered. */
export const EventEndpointState = {
  ACTIVE: "active",
  PAUSED: "paused",
  DISABLED: "disabled",
  UNATTENDED: "unattended",
} as const;
export type EventEndpointState = (typeof EventEndpointState)[keyof typeof EventEndpointState];

export const endpointsIn = (db: Db) =>
  db
    .selectFrom("eventEndpoints as e")
    .select([
      "e.id",
      "e.createdAt",
      "e.updatedAt",
      "e.organizationId",
      "e.name",
      "e.url",
      "e.eventTypes",
      "e.isThin",
      "e.state",
      "e.makerId",
      "e.position",
      "e.notifiedPosition",
      "e.failures",
      "e.failingSince",
      "e.lastFailure",
      "e.deliveredAt",
    ]);

/** An endpoint, without its secrets. */
export type EventEndpointRow = InferResult<ReturnType<typeof endpointsIn>>[number];

/** The endpoints that the caller may read: all, or those of organizations. */
function readableEndpoints(ctx: Context) {
  const { everywhere, organizations } = selectPermitted(ctx.actor, "event_endpoint:read");
  return endpointsIn(ctx.db).$if(!everywhere, (all) => all.where(inOrganizations("e.organizationId", organizations)));
}

/** Finds an endpoint by its id. Throws NOT_FOUND if the caller may not read it. */
export async function findEventEndpoint(ctx: Context, id: string): Promise<EventEndpointRow> {
  const endpoint = isUuid(id) ? await readableEndpoints(ctx).where("e.id", "=", id).executeTakeFirst() : undefined;
  if (!endpoint) throw notFound();
  return endpoint;
}

/** Batch read of endpoints by id, for `ctx.load`. Checks no permission: the mutation that leaves one behind does. */
export const endpointsById = async (ctx: Context, ids: readonly string[]) =>
  rowById(await endpointsIn(ctx.db).where("e.id", "=", anyOf(ids)).execute(), ids);

/** Finds an endpoint that the caller may change. Throws NOT_FOUND if the caller may not see it, and FORBIDDEN without the permission. */
export async function findChangeable(
  ctx: Context,
  id: string,
  permission: "event_endpoint:update" | "event_endpoint:delete",
): Promise<EventEndpointRow> {
  const { everywhere, organizations } = visible(ctx.actor, "event_endpoint:read");
  const found = isUuid(id) ? await endpointsIn(ctx.db).where("e.id", "=", id).executeTakeFirst() : undefined;
  if (!found || !(everywhere || organizations.includes(found.organizationId))) throw notFound();
  authorize(ctx.actor, permission, found);
  return found;
}

/** Finds an endpoint and locks it until the transaction ends. Throws for callers without the permission, before any lock. */
export async function lockEventEndpoint(
  ctx: Context,
  id: string,
  permission: "event_endpoint:update" | "event_endpoint:delete",
): Promise<EventEndpointRow> {
  await findChangeable(ctx, id, permission);
  const endpoint = await endpointsIn(ctx.db).where("e.id", "=", id).forNoKeyUpdate().executeTakeFirst();
  if (!endpoint) throw notFound();
  return endpoint;
}

/** Whether a user may have an endpoint in an organization: to send events there, one has to be allowed to read them. */
export const mayMake = (actor: UserActor, organizationId: string): boolean =>
  may(actor, "event_endpoint:update", { organizationId }) && may(actor, "audit_log:read", { organizationId });

/** Throws FORBIDDEN unless the caller may have an endpoint in an organization, and the log is licensed. */
export function requireMaker(ctx: Context, organizationId: string): void {
  authorize(ctx.actor, "audit_log:read", { organizationId });
  requireFeature(ctx, "audit_log");
}

export const EventEndpointsQuery = inputOf({
  ...PageArguments.shape,
  organization: optional(
    reference,
    "Organization of the endpoints: ID, name, or `default`. Default: all that the caller may read.",
  ),
  state: optional(choice(EventEndpointState), "State of the endpoints."),
});
export type EventEndpointsQuery = Input<typeof EventEndpointsQuery>;

const endpointList = defineList(readableEndpoints, {
  id: { column: "e.id", of: ({ id }) => id },
  // event_endpoints_list_index
  orders: {
    name: { name: text<EventEndpointRow>(foldedColumn("e.name"), { of: ({ name }) => foldCase(name) }) },
  },
  filters: {
    organization: (eb, id: string) => eb("e.organizationId", "=", id),
    state: (eb, state: EventEndpointState) => eb("e.state", "=", state),
  },
});

/** Lists the endpoints that the caller may read, by name. */
export async function listEventEndpoints(
  ctx: Context,
  { organization, state, ...page }: EventEndpointsQuery,
): Promise<Page<EventEndpointRow>> {
  requireAnyPermitted(ctx.actor, "event_endpoint:read");
  const filter = { state, organization: organization ? await idNamed(ctx, organization, findOrganization) : null };
  return endpointList.page(ctx, { filter, orderBy: { field: "name", direction: OrderDirection.ASC }, page });
}

/** Maximum number of open deliveries of an endpoint: its further events wait in the audit log. */
export const mostQueued = 10_000;

/** Batch read, for `ctx.load`, of the numbers of events that wait to be delivered, counted up to the most. */
export async function queuedCounts(ctx: Context, ids: readonly string[]): Promise<number[]> {
  const rows = await ctx.db
    .selectFrom("eventEndpoints as e")
    .select("e.id")
    .select((eb) =>
      eb
        .selectFrom(
          eb
            .selectFrom("eventDeliveries as d")
            .select("d.id")
            .whereRef("d.endpointId", "=", "e.id")
            .where(sql<boolean>`d.state in ('pending', 'leased')`)
            .limit(sql.lit(mostQueued))
            .as("open"),
        )
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .as("count"),
    )
    .where("e.id", "=", anyOf(ids))
    .execute();
  return ids.map((id) => rows.find((row) => row.id === id)?.count ?? 0);
}

const secretsIn = (db: Db) =>
  db.selectFrom("eventEndpointSecrets as s").select(["s.id", "s.endpointId", "s.createdAt", "s.suffix"]);

/** A secret of an endpoint, without its text. */
export type EventEndpointSecretRow = InferResult<ReturnType<typeof secretsIn>>[number];

/** Batch read of the secrets of endpoints, oldest first, for `ctx.load`. */
export async function secretsByEndpoint(ctx: Context, ids: readonly string[]): Promise<EventEndpointSecretRow[][]> {
  const rows = await secretsIn(ctx.db).where("s.endpointId", "=", anyOf(ids)).orderBy("s.id").execute();
  return rowsByKey(rows, ids, ({ endpointId }) => endpointId);
}
