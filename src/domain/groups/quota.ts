import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { notFound } from "../kernel/errors.js";
import { findOrganization, type OrganizationRow } from "../organizations/organizations.js";
import { findUser, type FoundUser } from "../users/users.js";
import { memberships } from "./memberships.js";

/** The workspace quota of a user in an organization, in credits. */
export interface WorkspaceQuota {
  budget: number;
  creditsConsumed: number;
}

const budgetOf = statement<{ budget: number }>(`
  select coalesce(sum(g.quota_allowance), 0)::bigint as budget
  from ${memberships} m join groups g on g.id = m.group_id
  where m.user_id = $1 and g.organization_id = $2`);

/** Reads the quota of a user: the sum of the allowances of its groups in the organization, Everyone included. */
export async function readWorkspaceQuota(
  ctx: Context,
  userRef: string,
  organizationRef: string,
): Promise<WorkspaceQuota> {
  const { user, organization } = await findMembership(ctx, userRef, organizationRef);
  const { budget } = (await ctx.row(budgetOf, user.id, organization.id))!;
  return { budget, creditsConsumed: 0 };
}

/** Finds a member of an organization. Throws NOT_FOUND if there is none or if the caller may not read both. */
export async function findMembership(
  ctx: Context,
  userRef: string,
  organizationRef: string,
): Promise<{ user: FoundUser; organization: OrganizationRow }> {
  const [user, organization] = await Promise.all([findUser(ctx, userRef), findOrganization(ctx, organizationRef)]);
  if (!user.memberships.some(({ organizationId }) => organizationId === organization.id)) throw notFound();
  return { user, organization };
}
