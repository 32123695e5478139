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
import { statement } from "../kernel/database.js";
import { isUuid } from "../kernel/text.js";
import { isLive } from "../oauth2/grants.js";
import { aclOf } from "../templates/access.js";
import { accessOf } from "../workspaces/workspaces.js";

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

const users = statement<Stored<"user">>(`
  select u.id, u.id as "ownerId", u.site_roles as "siteRoles", u.is_service_account as "isServiceAccount", array(
    select json_build_object('organizationId', m.organization_id, 'roles', m.roles)
    from organization_members m where m.user_id = u.id) as memberships
  from users u where u.id = any($1::uuid[]) and u.deleted_at is null`);

const organizations = statement<Stored<"organization">>(`
  select id, id as "organizationId" from organizations where id = any($1::uuid[]) and deleted_at is null`);

// The group Everyone has the id of its organization and no member rows. Groups are deleted with their organization.
const groups = statement<Stored<"group">>(`
  select g.id, g.organization_id as "organizationId", case when g.id = g.organization_id
    then exists (select from organization_members m where m.organization_id = g.id and m.user_id = $2)
    else exists (select from group_members m where m.group_id = g.id and m.user_id = $2) end as "isMember"
  from groups g where g.id = any($1::uuid[])`);

const tasks = statement<Stored<"task">>(`
  select t.id, t.owner_id as "ownerId", t.organization_id as "organizationId", ${accessOf("w", "$2")} as acl
  from tasks t join workspaces w on w.id = t.workspace_id where t.id = any($1::uuid[]) and t.deleted_at is null`);

const proxies = statement<Stored<"workspace_proxy">>(`
  select id from workspace_proxies where id = any($1::uuid[]) and deleted_at is null
  union all select id from deployment where id = any($1::uuid[])`);

const apps = statement<Stored<"oauth2_app">>(`
  select c.id, c.kind = 'admin' as "isAdminMade", exists (
    select from oauth2_grants g where g.client_id = c.id and g.user_id = $2 and ${isLive}) as "isGranted"
  from oauth2_clients c where c.id = any($1::uuid[])`);

const templates = statement<Stored<"template">>(`
  select t.id, t.organization_id as "organizationId", ${aclOf("$2")} as acl
  from templates t where t.id = any($1::uuid[]) and t.deleted_at is null`);

const workspaces = statement<Stored<"workspace">>(`
  select w.id, w.owner_id as "ownerId", w.organization_id as "organizationId", ${accessOf("w", "$2")} as acl
  from workspaces w where w.id = any($1::uuid[]) and w.deleted_at is null`);

const readers: { [R in StoredResource]: ReadTargets<R> } = {
  user: (ctx, ids) => ctx.rows(users, ids),
  organization: (ctx, ids) => ctx.rows(organizations, ids),
  group: (ctx, ids) => ctx.rows(groups, ids, userIdOf(ctx.actor) ?? null),
  template: (ctx, ids) => ctx.rows(templates, ids, userIdOf(ctx.actor) ?? null),
  workspace: (ctx, ids) => ctx.rows(workspaces, ids, userIdOf(ctx.actor) ?? null),
  task: (ctx, ids) => ctx.rows(tasks, ids, userIdOf(ctx.actor) ?? null),
  oauth2_app: (ctx, ids) => ctx.rows(apps, ids, userIdOf(ctx.actor) ?? null),
  workspace_proxy: (ctx, ids) => ctx.rows(proxies, ids),
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

const organizationsByReference = statement<{ id: string; name: string; isDefault: boolean }>(`
  select id, lower(name) as name, is_default as "isDefault" from organizations
  where deleted_at is null and (id = any($1::uuid[]) or lower(name) = any($2) or is_default and 'default' = any($2))`);

/** Reads organizations by id, name, or `default`. Returns a lookup of the ids of those that the caller can see. */
export async function readOrganizations(ctx: Context, references: string[]) {
  if (references.length === 0) return () => undefined;
  const refs = [...new Set(references.map((reference) => reference.toLowerCase()))];
  const ids = new Map<string, string>();
  for (const { id, name, isDefault } of await ctx.rows(organizationsByReference, refs.filter(isUuid), refs)) {
    if (!seesOn(ctx.actor, "organization:read", { organizationId: id })) continue;
    for (const reference of [id, name, ...(isDefault ? ["default"] : [])]) ids.set(reference, id);
  }
  return (reference: string): string | undefined => ids.get(reference.toLowerCase());
}
