import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { DomainError, notFound } from "../kernel/errors.js";
import { hasFeature } from "../entitlements/requirements.js";
import { findOrganization, type OrganizationRow } from "../organizations/organizations.js";
import { findUser, type FoundUser } from "../users/users.js";
import { memberships } from "./memberships.js";

/** The workspace quota of a user in an organization, in credits. */
export interface WorkspaceQuota {
  budget: number;
  creditsConsumed: number;
}

/** SQL: the budget of the user `$1` in the organization `$2`, and what its workspaces consume but the one of id `$3`. */
const quota = `
  select (
      select coalesce(sum(g.quota_allowance), 0)::bigint from ${memberships} m join groups g on g.id = m.group_id
      where m.user_id = $1 and g.organization_id = $2
    ) as budget, (
      select coalesce(sum(b.daily_cost), 0)::bigint
      from workspaces w join workspace_builds b on b.id = w.latest_build_id
      where w.owner_id = $1 and w.organization_id = $2 and w.deleted_at is null and w.id is distinct from $3::uuid
    ) as "creditsConsumed"`;

const quotaOf = statement<WorkspaceQuota>(quota);

/**
 * Reads the quota of a user: the sum of the allowances of its groups in the organization, Everyone included, and the
 * daily costs of its workspaces there.
 */
export async function readWorkspaceQuota(
  ctx: Context,
  userRef: string,
  organizationRef: string,
): Promise<WorkspaceQuota> {
  const { user, organization } = await findMembership(ctx, userRef, organizationRef);
  return (await ctx.row(quotaOf, user.id, organization.id, null))!;
}

// The quota of a user in an organization is decided by one transaction at a time.
const lockMember = statement(
  "select from organization_members where user_id = $1 and organization_id = $2 for no key update",
);

/** The cost of a build, in credits a day. */
export interface BuildCost {
  workspaceId: string;
  ownerId: string;
  organizationId: string;
  cost: number;
  /** The cost of the previous build of the workspace; 0 without one. */
  previous: number;
}

/**
 * Throws CONFLICT if a build exceeds the quota of the owner of its workspace. A build that costs less than the previous
 * one never does. Until the transaction ends, no other one decides about the owner: it must store the cost.
 */
export async function requireQuota(ctx: Context, build: BuildCost): Promise<void> {
  const { workspaceId, ownerId, organizationId, cost, previous } = build;
  if (cost === 0 || cost < previous || !hasFeature(ctx, "template_rbac")) return;
  await ctx.row(lockMember, ownerId, organizationId);
  const { budget, creditsConsumed } = (await ctx.row(quotaOf, ownerId, organizationId, workspaceId))!;
  if (creditsConsumed + cost <= budget) return;
  throw new DomainError("CONFLICT", "The build exceeds the workspace quota of the owner.", {
    detail: `It costs ${cost} credits a day. The budget is ${budget}, of which other workspaces consume ${creditsConsumed}.`,
    reason: quotaExceeded,
  });
}

/** The reason of a CONFLICT over the quota. */
export const quotaExceeded = "QUOTA_EXCEEDED";

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
