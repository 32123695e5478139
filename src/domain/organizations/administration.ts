import type { Context } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { auditedAs, diffOf } from "../audit/audit.js";
import { authorize } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { requireFeature } from "../entitlements/requirements.js";
import { conflict, conflictOn, DomainError, onViolation, Problems } from "../kernel/errors.js";
import { lockMemberships } from "../groups/memberships.js";
import { lockOrganization, type OrganizationRow } from "./organizations.js";
import { displayNameProblem, iconProblem, nameProblem, proseProblem } from "../kernel/text.js";
import { userHint } from "../tokens/credentials.js";

/** New values of an organization. An update keeps those that are absent; a creation requires the name. */
export type OrganizationChange = {
  [Field in "name" | "displayName" | "description" | "icon"]?: string | null;
};

const insertOrganization = statement(`
  with created as (
    insert into organizations (id, created_at, updated_at, name, display_name, description, icon)
    values ($1, now(), now(), $2, $3, $4, $5)
  )
  insert into groups (id, created_at, updated_at, organization_id, name) values ($1, now(), now(), $1, 'Everyone')`);

/** Creates an organization and its group Everyone. Returns its id. */
export async function createOrganization(ctx: Context, input: OrganizationChange): Promise<string> {
  authorize(ctx.actor, "organization:create");
  requireFeature(ctx, "multiple_organizations");
  const organization = {
    name: input.name ?? "",
    displayName: input.displayName ?? "",
    description: input.description ?? "",
    icon: input.icon ?? "",
  };
  requireWellFormed(organization);

  const id = newId();
  const { name, displayName, description, icon } = organization;
  await ctx.row(insertOrganization, id, name, displayName, description, icon).catch(throwTaken);
  ctx.audit({ action: "create", ...identified({ id, name }), diff: diffOf({}, organization) });
  return id;
}

function requireWellFormed({ name, displayName, description, icon }: OrganizationChange): void {
  const problems = new Problems();
  if (name != null) problems.add("name", nameProblem(name));
  if (displayName != null) problems.add("displayName", displayNameProblem(displayName));
  if (description != null) problems.add("description", proseProblem(description, 1000));
  if (icon != null) problems.add("icon", iconProblem(icon));
  problems.throwIfAny();
}

const throwTaken = onViolation({ organizations_name_unique: () => conflictOn("name", "This name is in use.") });

const update = statement(`
  update organizations set name = coalesce($2, name), display_name = coalesce($3, display_name),
    description = coalesce($4, description), icon = coalesce($5, icon), updated_at = now()
  where id = $1`);

/** Changes the names, description and icon of an organization. Returns its id. */
export async function updateOrganization(
  ctx: Context,
  { organization: ref, ...change }: OrganizationChange & { organization: string },
): Promise<string> {
  const organization = await lockOrganization(ctx, ref, "organization:update");
  requireWellFormed(change);
  const diff = diffOf<OrganizationRow>(organization, change);
  if (Object.keys(diff).length === 0) return organization.id;

  const { name, displayName, description, icon } = change;
  await ctx.row(update, organization.id, name, displayName, description, icon).catch(throwTaken);
  ctx.audit({ action: "update", ...identified(organization), diff });
  return organization.id;
}

const markDeleted = statement<{ userId: string }>(`
  with deleted as (update organizations set deleted_at = now(), updated_at = now() where id = $1),
    deleted_groups as (delete from groups where organization_id = $1)
  delete from organization_members where organization_id = $1 returning user_id as "userId"`);

/** The first kind of objects that an organization still has; null if none. */
const contents = statement<{ kind: string | null }>(`
  select case
    when exists (select from workspaces where organization_id = $1 and deleted_at is null) then 'workspaces'
    when exists (select from templates where organization_id = $1 and deleted_at is null) then 'templates'
    when exists (select from provisioner_keys where organization_id = $1) then 'provisioner keys' end as kind`);

/**
 * Deletes an organization with its groups and memberships. Throws CONFLICT while it has workspaces, templates, or
 * provisioner keys. Returns the organization before the deletion.
 */
export async function deleteOrganization(ctx: Context, ref: string): Promise<OrganizationRow> {
  const organization = await lockOrganization(ctx, ref, "organization:delete");
  if (organization.isDefault) throw new DomainError("BAD_USER_INPUT", "The default organization cannot be deleted.");
  const kind = (await ctx.row(contents, organization.id))?.kind;
  if (kind) throw conflict(`The organization has ${kind}. Delete them first.`);

  await lockMemberships(ctx, { organizationId: organization.id });
  const members = await ctx.rows(markDeleted, organization.id);
  ctx.audit({ action: "delete", ...identified(organization) });
  ctx.publish(...members.map(({ userId }) => userHint(userId)));
  return organization;
}

const identified = ({ id, name }: Pick<OrganizationRow, "id" | "name">) => auditedAs("organization", id, name, id);
