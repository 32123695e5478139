import { sql, type SqlBool } from "kysely";
import { databaseTime, instantOf } from "../../runtime/clock.js";
import { authorize, authorizeMachine, may, selectPermitted } from "../authorization/authorization.js";
import type { ScimKeyActor } from "../kernel/actor.js";
import { after, anyOf, now } from "../kernel/queries.js";
import type { Context } from "../kernel/context.js";
import { requireFeature } from "../entitlements/requirements.js";
import { type FoundUser, userTarget } from "../users/users.js";
import { defaultSource } from "./scim-keys.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const g = columnsOf("groups", "g");

/** Who provisions: an identity provider with its key, or a user with the rights of its own. */
export interface Provisioner {
  /** The label of the identity provider, whose links are read and written. */
  source: string;
  /** The organizations that new users join, and in the first of which new groups are. Default: the default organization. */
  organizationIds?: string[];
}

/** Returns the provisioner behind a request. Throws FORBIDDEN for callers that may not create users. */
export function provisionerOf(ctx: Context): Provisioner {
  const { actor } = ctx;
  if (actor.kind !== "scim_key") {
    authorize(actor, "user:create");
    requireFeature(ctx, "scim");
    return { source: defaultSource };
  }
  const { source, organizationIds } = authorizeMachine(actor, "scim:provision");
  requireFeature(ctx, "scim");
  noteUse(ctx, actor);
  return { source, organizationIds: [...organizationIds] };
}

/**
 * The permission that a caller needs on a user whose link it writes: none for keys, which may write the links of their
 * source to all users. What a change does to the account needs permissions of its own.
 */
export const permissionToLink = ({ actor }: Context): "user:update" | undefined =>
  actor.kind === "scim_key" ? undefined : "user:update";

/** Whether the caller is a key, and the user also belongs to organizations that are not those of the key. */
export const isBeyond = ({ actor }: Context, user: FoundUser): boolean =>
  actor.kind === "scim_key" && !may(actor, "user:update", userTarget(user));

/** The condition that the group `g` is visible: it is in an organization of the caller, and it is not Everyone. */
export function isVisibleGroup({ actor }: Context) {
  const { everywhere, organizations } = selectPermitted(actor, "group:read");
  if (everywhere) return sql<SqlBool>`g.id <> ${g.organizationId}`;
  return sql<SqlBool>`(${g.organizationId} = ${anyOf(organizations)} and g.id <> ${g.organizationId})`;
}

/** Milliseconds between recorded uses of a key. */
const tolerated = 4 * 60_000;

/** Keys, as cached for a second, whose use was recorded. */
const noted = new WeakSet<ScimKeyActor>();

/** Records the use of a key outside of the request, unless a recent use is already stored. */
function noteUse({ services, request }: Context, key: ScimKeyActor): void {
  const { id, lastUsedAt } = key;
  if (noted.has(key)) return;
  noted.add(key);
  if (lastUsedAt !== null && databaseTime() - instantOf(lastUsedAt) < tolerated) return;
  services.backgroundTasks.run("record the use of a SCIM key", async () => {
    await services.database.db
      .updateTable("scimKeys")
      .set({ lastUsedAt: now, lastUsedIp: request.ip ?? null })
      .where("id", "=", id)
      .where((eb) => eb.or([eb("lastUsedAt", "is", null), eb("lastUsedAt", "<", after(-tolerated))]))
      .execute();
  });
}
