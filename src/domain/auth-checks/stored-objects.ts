import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import {
  type Action,
  type ObjectOf,
  type Permission,
  type Resource,
  seesOn,
  type Target,
} from "../authorization/authorization.js";
import { anyOf } from "../kernel/queries.js";
import { isUuid } from "../../runtime/text.js";
import { isLive } from "../oauth2/grants.js";
import { aclOfCaller } from "../templates/templates.js";
import { membershipsOfUser, type UserRoles } from "../users/users.js";
import { workspaceAcl } from "../workspaces/workspaces.js";

/** A resource whose objects can be checked by id. */
export type StoredResource =
  | "user"
  | "organization"
  | "group"
  | "template"
  | "workspace"
  | "task"
  | "oauth2_app"
  | "workspace_proxy";

/** An object with all properties that the policy reads for any action. */
type Stored<R extends Resource> = ObjectOf<`${R}:${Action<R>}` & Permission> & { id: string };

/** Reads the policy's view of stored objects, in one statement. Unknown ids are omitted. */
type ReadTargets<R extends Resource> = (ctx: Context, ids: string[]) => Promise<Array<Stored<R>>>;

const readers: { [R in StoredResource]: ReadTargets<R> } = {
  user: ({ db }, ids) =>
    db
      .selectFrom("users as u")
      .select(["u.id", "u.id as ownerId", "u.siteRoles", "u.isServiceAccount", membershipsOfUser("u.id")])
      .$narrowType<UserRoles>()
      .where("u.id", "=", anyOf(ids))
      .where("u.deletedAt", "is", null)
      .execute(),

  organization: ({ db }, ids) =>
    db
      .selectFrom("organizations")
      .select(["id", "id as organizationId"])
      .where("id", "=", anyOf(ids))
      .where("deletedAt", "is", null)
      .execute(),

  // The group Everyone has the id of its organization and no member rows. Groups are deleted with their organization.
  group: ({ actor, db }, ids) =>
    db
      .selectFrom("groups as g")
      .select(["g.id", "g.organizationId"])
      .select((eb) => {
        const user = userIdOf(actor) ?? null;
        const member = eb
          .selectFrom("groupMembers as m")
          .whereRef("m.groupId", "=", "g.id")
          .where("m.userId", "=", user);
        const ofEveryone = eb
          .selectFrom("organizationMembers as o")
          .whereRef("o.organizationId", "=", "g.id")
          .where("o.userId", "=", user);
        return eb.or([eb.exists(member), eb.exists(ofEveryone)]).as("isMember");
      })
      .$narrowType<{ isMember: boolean }>()
      .where("g.id", "=", anyOf(ids))
      .execute(),

  template: (ctx, ids) =>
    ctx.db
      .selectFrom("templates as t")
      .select(["t.id", "t.organizationId", aclOfCaller(ctx)])
      .where("t.id", "=", anyOf(ids))
      .where("t.deletedAt", "is", null)
      .execute(),

  workspace: (ctx, ids) =>
    ctx.db
      .selectFrom("workspaces as w")
      .select(["w.id", "w.ownerId", "w.organizationId", workspaceAcl(ctx)])
      .where("w.id", "=", anyOf(ids))
      .where("w.deletedAt", "is", null)
      .execute(),

  task: (ctx, ids) =>
    ctx.db
      .selectFrom("tasks as t")
      .innerJoin("workspaces as w", "w.id", "t.workspaceId")
      .select(["t.id", "t.ownerId", "t.organizationId", workspaceAcl(ctx)])
      .where("t.id", "=", anyOf(ids))
      .where("t.deletedAt", "is", null)
      .execute(),

  oauth2_app: ({ actor, db }, ids) =>
    db
      .selectFrom("oauth2Clients as c")
      .select(["c.id"])
      .select((eb) => [
        eb("c.kind", "=", "admin").as("isAdminMade"),
        eb
          .exists(
            eb
              .selectFrom("oauth2Grants as g")
              .whereRef("g.clientId", "=", "c.id")
              .where("g.userId", "=", userIdOf(actor) ?? null)
              .where(isLive),
          )
          .as("isGranted"),
      ])
      .$narrowType<{ isAdminMade: boolean; isGranted: boolean }>()
      .where("c.id", "=", anyOf(ids))
      .execute(),

  // The primary proxy has the id of the deployment.
  workspace_proxy: ({ db }, ids) =>
    db
      .selectFrom("workspaceProxies")
      .select("id")
      .where("id", "=", anyOf(ids))
      .where("deletedAt", "is", null)
      .unionAll(db.selectFrom("deployment").select("id").where("id", "=", anyOf(ids)))
      .execute(),
};

export const storedResources = Object.keys(readers) as StoredResource[];

export const isStoredResource = (name: string): name is StoredResource => Object.hasOwn(readers, name);

/** A reference to an object. The id is case-insensitive. */
export interface ObjectReference {
  resource: StoredResource;
  id: string;
}

const keyOf = ({ resource, id }: ObjectReference) => `${resource}:${id.toLowerCase()}`;

/** Reads objects. Returns a lookup of their policy view, which yields `undefined` for what the caller cannot see. */
export async function readObjects(ctx: Context, references: ObjectReference[]) {
  const ids = Map.groupBy(references, ({ resource }) => resource);
  const found = new Map<string, Target>();
  const read = async (resource: StoredResource, wanted: ObjectReference[]) => {
    const targets: Array<Target & { id: string }> = await readers[resource](ctx, [
      ...new Set(wanted.map(({ id }) => id)),
    ]);
    for (const target of targets) {
      if (seesOn(ctx.actor, `${resource}:read`, target)) found.set(keyOf({ resource, id: target.id }), target);
    }
  };
  await Promise.all([...ids].map(([resource, wanted]) => read(resource, wanted)));
  return (reference: ObjectReference): Target | undefined => found.get(keyOf(reference));
}

/** Reads organizations by id, name, or `default`. Returns a lookup of the ids of those that the caller can see. */
export async function readOrganizations(ctx: Context, references: string[]) {
  if (references.length === 0) return () => undefined;
  const refs = [...new Set(references.map((reference) => reference.toLowerCase()))];
  const ids = new Map<string, string>();
  const found = await ctx.db
    .selectFrom("organizations")
    .select(({ fn }) => ["id", fn<string>("lower", ["name"]).as("name"), "isDefault"])
    .where("deletedAt", "is", null)
    .where((eb) =>
      eb.or([
        eb("id", "=", anyOf(refs.filter(isUuid))),
        eb(eb.fn<string>("lower", ["name"]), "=", anyOf(refs, "text")),
        eb.and([eb("isDefault", "=", true), eb.lit(refs.includes("default"))]),
      ]),
    )
    .execute();
  for (const { id, name, isDefault } of found) {
    if (!seesOn(ctx.actor, "organization:read", { organizationId: id })) continue;
    for (const reference of [id, name, ...(isDefault ? ["default"] : [])]) ids.set(reference, id);
  }
  return (reference: string): string | undefined => ids.get(reference.toLowerCase());
}
