import type { Context } from "../kernel/context.js";
import { authorize, may, reach, type Reach, sees } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { conflict, notFound } from "../kernel/errors.js";
import { empty, raw, type Sql, sql } from "../kernel/sql.js";
import { isUuid } from "../kernel/text.js";
import { organizationIdsOf, type UserRow } from "../users/users.js";

export interface OrganizationRow {
  id: string;
  createdAt: string;
  updatedAt: string;
  name: string;
  displayName: string;
  description: string;
  icon: string;
  isDefault: boolean;
}

/** The columns of an `OrganizationRow`, from `organizations o`. */
export const organizationColumns = `o.id, o.created_at as "createdAt", o.updated_at as "updatedAt", o.name,
  o.display_name as "displayName", o.description, o.icon, o.is_default as "isDefault"`;

const select = (condition: string, more = "") =>
  statement<OrganizationRow>(
    `select ${organizationColumns} from organizations o where o.deleted_at is null and ${condition} ${more}`,
  );

const finders = {
  byId: select("o.id = $1"),
  byName: select("lower(o.name) = lower($1)"),
  byDefault: select("o.is_default"),
};

// Not `for update`, which would block inserts of rows that refer to the organization.
const locking = (
  ref: string,
  { everywhere, organizations }: Pick<Reach, "everywhere" | "organizations">,
  more?: Sql,
): Sql => {
  const [id, name] = isUuid(ref) ? [ref, null] : [null, ref];
  return sql`
    with locked as materialized (
      select ${raw(organizationColumns)} from organizations o
      where o.deleted_at is null and (o.id = ${id} or lower(o.name) = lower(${name}) or (${ref === "default"} and o.is_default))
        and (${everywhere} or o.id = any(${organizations}::uuid[])) for no key update
    )
    select locked.*${more ? sql`, ${more}` : empty} from locked`;
};

/** Finds an organization by id, by name in any letter case, or by `default`. Throws NOT_FOUND if it is not readable. */
export async function findOrganization(ctx: Context, ref: string): Promise<OrganizationRow> {
  const organization = await findAnyOrganization(ctx, ref);
  if (!organization || !sees(ctx.actor, "organization:read", { organizationId: organization.id })) throw notFound();
  return organization;
}

/**
 * Finds an organization like `findOrganization` and locks it until the transaction ends: no other one changes it or
 * adds members. Throws for callers without `permission`, and locks nothing for them. `more` are further columns, selected
 * from `locked`.
 */
export async function lockOrganization<More = unknown>(
  ctx: Context,
  ref: string,
  permission: "organization:update" | "organization:delete" | "group:create",
  more?: Sql,
): Promise<OrganizationRow & More> {
  const held = reach(ctx.actor, permission);
  const mayHold = held.everywhere || held.organizations.length > 0;
  const [organization] = mayHold ? await ctx.select<OrganizationRow & More>(locking(ref, held, more)) : [];
  if (organization) return organization;
  authorize(ctx.actor, permission, { organizationId: (await findOrganization(ctx, ref)).id });
  throw notFound();
}

/** Finds an organization like `findOrganization`, without a check: the caller does that. */
export function findAnyOrganization(ctx: Context, ref: string): Promise<OrganizationRow | undefined> {
  const { byId, byName, byDefault } = finders;
  if (isUuid(ref)) return ctx.row(byId, ref);
  return ref === "default" ? ctx.row(byDefault) : ctx.row(byName, ref);
}

const organizationsByIds = statement<OrganizationRow>(
  `select ${organizationColumns} from organizations o where o.id = any($1::uuid[])`,
);

/** Batch read of organizations by id, for `ctx.load`. Checks no permission: the object that has the id does. */
export async function organizationsById(
  ctx: Context,
  ids: readonly string[],
): Promise<Array<OrganizationRow | undefined>> {
  const organizations = new Map((await ctx.rows(organizationsByIds, ids)).map((each) => [each.id, each]));
  return ids.map((id) => organizations.get(id));
}

const readableOrganizations = statement<OrganizationRow>(`
  select ${organizationColumns} from organizations o
  where o.deleted_at is null and ($1 or o.id = any($2::uuid[]))
  order by lower(o.name)`);

/** Lists the organizations that the caller may read, by name. */
export function listOrganizations(ctx: Context): Promise<OrganizationRow[]> {
  const { everywhere, organizations } = reach(ctx.actor, "organization:read");
  return ctx.rows(readableOrganizations, everywhere, organizations);
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
