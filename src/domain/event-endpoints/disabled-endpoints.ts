import { sql, type SqlBool } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { type Services, systemContext } from "../kernel/context.js";
import { notify } from "../notifications/notify.js";
import { endpointNotifications } from "../notifications/templates/endpoint-notifications.js";
import { ofEndpoint } from "./endpoint-changes.js";
import { endpointsIn } from "./event-endpoints.js";

const m = columnsOf("organizationMembers", "m");

/** The condition that a user `u` made an endpoint, or administers its organization. */
const isConcerned = (endpoint: { makerId: string; organizationId: string }) => sql<SqlBool>`
  u.id = any(array(
    select ${endpoint.makerId}::uuid
    union all select ${m.userId} from organization_members m
      where ${m.organizationId} = ${endpoint.organizationId} and ${m.roles} <> '{}' and ${m.roles} @> '{organization-admin}'))`;

/** Disables an endpoint that fails, unless it is not active any more, and tells its maker and the administrators. */
export async function disableEndpoint(services: Services, id: string): Promise<void> {
  const ctx = systemContext(services);
  await ctx.transactional(async () => {
    const endpoint = await endpointsIn(ctx.db)
      .where("e.id", "=", id)
      .where("e.state", "=", "active")
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (!endpoint) return;
    await ctx.db.updateTable("eventEndpoints").set({ state: "disabled" }).where("id", "=", id).execute();
    ctx.audit({ action: "update", ...ofEndpoint(endpoint), diff: { state: { old: "active", new: "disabled" } } });
    await notify(ctx, {
      template: endpointNotifications.disabled,
      recipients: isConcerned(endpoint),
      targets: [id],
      labels: { endpoint: endpoint.name, failure: endpoint.lastFailure },
      data: {},
    });
  });
}
