import { type InferResult, type QueryCreator, sql, type SqlBool } from "kysely";
import { databaseTime } from "../../runtime/clock.js";
import { Organization } from "../../entities/organizations.js";
import type { Schema } from "../../entities/schema.js";
import { auditChangesOf, auditedAs } from "../kernel/audit.js";
import { authorize, may, selectPermitted, sees } from "../authorization/authorization.js";
import { requireFeature } from "../entitlements/requirements.js";
import { lockMemberships } from "../groups/memberships.js";
import type { Context } from "../kernel/context.js";
import { conflict, conflictOn, DomainError, notFound, onViolation, Problems } from "../kernel/errors.js";
import { pickGiven } from "../kernel/changed-fields.js";
import { anyOf, now, rowById } from "../kernel/queries.js";
import { isUuid } from "../../runtime/text.js";
import {
  check,
  icon,
  type Input,
  inputOf,
  label,
  meant,
  urlName,
  optional,
  prose,
  reference,
  required,
} from "../kernel/values.js";
import { userHint } from "../tokens/hints.js";
import { organizationIdsOf, type UserRow } from "../users/users.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { longestDescription, longestLabel, longestName } from "../../entities/lengths.js";

const owned = columnsOf<"provisionerKeys" | "templates" | "workspaces">("workspaces");
const deletable = columnsOf<"templates" | "workspaces">("workspaces");

const o = columnsOf("organizations", "o");

const allOrganizations = (db: QueryCreator<Schema>) =>
  db
    .selectFrom("organizations as o")
    .select([
      "o.id",
      "o.createdAt",
      "o.updatedAt",
      "o.name",
      "o.displayName",
      "o.description",
      "o.icon",
      "o.isDefault",
    ]);

export type OrganizationRow = InferResult<ReturnType<typeof allOrganizations>>[number];

/** The condition that an organization `o` is the one with an id, with a name in any letter case, or `default`. */
export function isOrganizationNamed(ref: string) {
  const isIt = isUuid(ref)
    ? sql<SqlBool>`o.id = ${ref}`
    : ref === "default"
      ? sql<SqlBool>`${o.isDefault}`
      : sql<SqlBool>`lower(o.name) = lower(${ref}::text)`;
  return sql<SqlBool>`${o.deletedAt} is null and ${isIt}`;
}

/** Finds an organization by id, by name in any letter case, or by `default`. Throws NOT_FOUND if it is not readable. */
export async function findOrganization(ctx: Context, ref: string): Promise<OrganizationRow> {
  const organization = await findAnyOrganization(ctx, ref);
  if (!organization || !sees(ctx.actor, "organization:read", { organizationId: organization.id })) throw notFound();
  return organization;
}

/** Finds an organization like `findOrganization`, without a check: the caller does that. */
export const findAnyOrganization = (ctx: Context, ref: string): Promise<OrganizationRow | undefined> =>
  allOrganizations(ctx.db).where(isOrganizationNamed(ref)).executeTakeFirst();

/**
 * Finds an organization like `findOrganization` and locks it until the transaction ends: no other one changes it or
 * adds members. Throws for callers without `permission`, and locks nothing for them.
 */
export async function lockOrganization(
  ctx: Context,
  ref: string,
  permission: "organization:update" | "organization:delete" | "group:create" | "event_endpoint:create",
): Promise<OrganizationRow> {
  const { everywhere, organizations } = selectPermitted(ctx.actor, permission);
  if (everywhere || organizations.length > 0) {
    // Not `for update`, which would block inserts of rows that refer to the organization.
    const organization = await allOrganizations(ctx.db)
      .where(isOrganizationNamed(ref))
      .$if(!everywhere, (among) => among.where("o.id", "=", anyOf(organizations)))
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (organization) return organization;
  }
  authorize(ctx.actor, permission, { organizationId: (await findOrganization(ctx, ref)).id });
  throw notFound();
}

/** Batch read of organizations by id, for `ctx.load`. Checks no permission: the object that has the id does. */
export async function organizationsById(
  ctx: Context,
  ids: readonly string[],
): Promise<Array<OrganizationRow | undefined>> {
  const found = await allOrganizations(ctx.db).where("o.id", "=", anyOf(ids)).execute();
  return rowById(found, ids);
}

/** Lists the organizations that the caller may read, by name. */
export function listOrganizations(ctx: Context): Promise<OrganizationRow[]> {
  const { everywhere, organizations } = selectPermitted(ctx.actor, "organization:read");
  return allOrganizations(ctx.db)
    .where("o.deletedAt", "is", null)
    .$if(!everywhere, (among) => among.where("o.id", "=", anyOf(organizations)))
    .orderBy(sql`lower(o.name)`)
    .execute();
}

/** The organizations of a user that the caller may read, in the order in which the user joined them. */
export async function organizationsOf(ctx: Context, user: UserRow): Promise<OrganizationRow[]> {
  const ids = (await organizationIdsOf(ctx, user)).filter((organizationId) =>
    may(ctx.actor, "organization:read", { organizationId }),
  );
  const found = await Promise.all(ids.map((id) => ctx.load(organizationsById, id)));
  return found.filter((organization) => organization !== undefined);
}

/** Maximum number of memberships of a user. */
export const maxOrganizationsPerUser = 1000;

export const tooManyOrganizations = () =>
  conflict(`A user can be a member of at most ${maxOrganizationsPerUser} organizations.`);

/** An icon, which the API has as a URL. */
const iconUrl = meant(icon, { scalar: "URL" });

export const CreateOrganization = inputOf({
  name: required(urlName(longestName), "Unique, case-insensitive: {limits}."),
  displayName: optional(label(longestLabel), "Display name, {limits}. Default: empty."),
  description: optional(prose(longestDescription), "Description, {limits}. Default: empty."),
  icon: optional(iconUrl, "URL of an icon. Default: empty."),
});
export type CreateOrganization = Input<typeof CreateOrganization>;

/** Creates an organization and its group Everyone. Returns its id. */
export async function createOrganization(
  ctx: Context,
  { name: wanted, ...others }: CreateOrganization,
): Promise<string> {
  authorize(ctx.actor, "organization:create");
  requireFeature(ctx, "multiple_organizations");
  const fields = { name: wanted, ...pickGiven(others) };
  requireWellFormed(fields);
  return addOrganization(ctx, fields).catch(throwTaken);
}

/** Stores an organization and its group Everyone, which has the same id. Returns the id. */
export async function addOrganization(
  ctx: Context,
  fields: Pick<OrganizationRow, "name"> & Partial<Omit<OrganizationRow, "createdAt" | "updatedAt">>,
): Promise<string> {
  const { id } = ctx.em.create(Organization, fields);
  await ctx.em.flush();
  await ctx.db
    .insertInto("groups")
    .values({ id, organizationId: id, name: "Everyone", createdAt: now, updatedAt: now })
    .execute();
  return id;
}

auditChangesOf(Organization, {
  resource: ({ id }, before) => auditedAs("organization", id, before("name"), id),
  fields: ["name", "displayName", "description", "icon"],
  deletion: { fields: [] },
});

function requireWellFormed(change: OrganizationChange): void {
  const problems = new Problems();
  check(UpdateOrganization, change, problems);
  problems.throwIfAny();
}

const throwTaken = onViolation({ organizations_name_unique: () => conflictOn("name", "This name is in use.") });

export const UpdateOrganization = inputOf({
  organization: required(reference, "The organization: ID, name, or `default`."),
  name: optional(urlName(longestName), "New name."),
  displayName: optional(label(longestLabel), "New display name, {limits}."),
  description: optional(prose(longestDescription), "New description, {limits}."),
  icon: optional(iconUrl, "New URL of an icon; empty for none."),
});
export type UpdateOrganization = Input<typeof UpdateOrganization>;

/** New values of an organization. Absent and null ones keep what is stored. */
type OrganizationChange = Omit<UpdateOrganization, "organization">;

/** Changes the names, description and icon of an organization. Returns its id. */
export async function updateOrganization(
  ctx: Context,
  { organization: ref, ...change }: UpdateOrganization,
): Promise<string> {
  const organization = await lockOrganization(ctx, ref, "organization:update");
  requireWellFormed(change);
  ctx.em.assign(await ctx.em.findOneOrFail(Organization, organization.id), pickGiven(change));
  await ctx.em.flush().catch(throwTaken);
  return organization.id;
}

export const DeleteOrganization = inputOf({
  organization: required(reference, "The organization: ID or name."),
});
export type DeleteOrganization = Input<typeof DeleteOrganization>;

/**
 * Deletes an organization with its groups and memberships. Throws CONFLICT while it has workspaces, templates, or
 * provisioner keys. Returns the organization before the deletion.
 */
export async function deleteOrganization(ctx: Context, ref: string): Promise<OrganizationRow> {
  const organization = await lockOrganization(ctx, ref, "organization:delete");
  const { id } = organization;
  if (organization.isDefault) throw new DomainError("BAD_USER_INPUT", "The default organization cannot be deleted.");
  const kind = await contentOf(ctx, id);
  if (kind) throw conflict(`The organization has ${kind}. Delete them first.`);

  await lockMemberships(ctx, { organizationId: id });
  const stored = await ctx.em.findOneOrFail(Organization, id);
  stored.deletedAt = new Date(databaseTime());
  await ctx.em.flush();
  await ctx.db.deleteFrom("groups").where("organizationId", "=", id).execute();
  await ctx.db.deleteFrom("eventEndpoints").where("organizationId", "=", id).execute();
  await ctx.db.deleteFrom("secondFactorRules").where("organizationId", "=", id).execute();
  const members = await ctx.db
    .deleteFrom("organizationMembers")
    .where("organizationId", "=", id)
    .returning("userId")
    .execute();
  ctx.publish(...members.map(({ userId }) => userHint(userId)));
  return organization;
}

/** The first kind of objects that an organization still has, if any. */
async function contentOf({ db }: Context, id: string): Promise<string | undefined> {
  const isIts = sql<SqlBool>`${owned.organizationId} = ${id}`;
  const { rows } = await sql<{ kind: string | null }>`
    select case
      when exists (select from workspaces where ${isIts} and ${deletable.deletedAt} is null) then 'workspaces'
      when exists (select from templates where ${isIts} and ${deletable.deletedAt} is null) then 'templates'
      when exists (select from provisioner_keys where ${isIts}) then 'provisioner keys' end as kind`.execute(db);
  return rows[0]?.kind ?? undefined;
}
