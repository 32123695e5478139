// An endpoint has the rights of the user who made it or took it over: once that user may not read the log of its organization
// any more, nothing is sent until another one resumes it.
import { userActors } from "../users/user-actors.js";
import type { Context } from "../kernel/context.js";
import { anyOf } from "../kernel/queries.js";
import { ofEndpoint } from "./endpoint-changes.js";
import { type EventEndpointRow, mayMake } from "./event-endpoints.js";

type Made = Pick<EventEndpointRow, "id" | "name" | "organizationId" | "makerId">;

/** Returns the ids of those of some endpoints whose makers have lost the right. */
export async function unattendedOf(ctx: Context, endpoints: readonly Made[]): Promise<Set<string>> {
  const makers = [...new Set(endpoints.map(({ makerId }) => makerId))];
  if (makers.length === 0) return new Set();
  const actors = await userActors(ctx, makers);
  const byId = new Map(actors.flatMap((actor) => (actor ? [[actor.userId, actor] as const] : [])));
  const isAttended = ({ makerId, organizationId }: Made) => {
    const actor = byId.get(makerId);
    return actor !== undefined && mayMake(actor, organizationId);
  };
  return new Set(endpoints.filter((endpoint) => !isAttended(endpoint)).map(({ id }) => id));
}

/** Stops those of some endpoints whose makers have lost the right, in a transaction. Returns the others. */
export async function withAttendedMakers<Endpoint extends Made>(
  ctx: Context,
  endpoints: readonly Endpoint[],
): Promise<Endpoint[]> {
  const lost = await unattendedOf(ctx, endpoints);
  if (lost.size === 0) return [...endpoints];
  await ctx.db
    .updateTable("eventEndpoints")
    .set({ state: "unattended" })
    .where("id", "=", anyOf([...lost]))
    .where("state", "=", "active")
    .execute();
  for (const endpoint of endpoints)
    if (lost.has(endpoint.id))
      ctx.audit({
        action: "update",
        ...ofEndpoint(endpoint),
        diff: { state: { old: "active", new: "unattended" } },
      });
  return endpoints.filter(({ id }) => !lost.has(id));
}
