import { sql } from "kysely";
import type { Context } from "../kernel/context.js";
import { DomainError, notFound } from "../kernel/errors.js";
import { hasFeature } from "../entitlements/requirements.js";
import { findOrganization, type OrganizationRow } from "../organizations/organizations.js";
import { findUser, type FoundUser } from "../users/users.js";
import { hasMember } from "../groups/groups.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const g = columnsOf("groups", "g");
const b = columnsOf("workspaceBuilds", "b");

/** The workspace quota of a user in an organization, in credits. */
export interface WorkspaceQuota {
  budget: number;
  creditsConsumed: number;
}

/** Reads the quota of a user in an organization, without what the workspace of id `except` consumes. */
async function quotaOf(ctx: Context, userId: string, organizationId: string, except?: string): Promise<WorkspaceQuota> {
  const allowances = ctx.db
    .selectFrom("groups as g")
    .select(sql<number>`coalesce(sum(${g.quotaAllowance}), 0)::bigint`.as("sum"))
    .where("g.organizationId", "=", organizationId)
    .where(hasMember(userId));
  const costs = ctx.db
    .selectFrom("workspaces as w")
    .innerJoin("workspaceBuilds as b", "b.id", "w.latestBuildId")
    .select(sql<number>`coalesce(sum(${b.dailyCost}), 0)::bigint`.as("sum"))
    .where("w.ownerId", "=", userId)
    .where("w.organizationId", "=", organizationId)
    .where("w.deletedAt", "is", null)
    .$if(except !== undefined, (from) => from.where("w.id", "<>", except!));
  const [budget, consumed] = await Promise.all([allowances.executeTakeFirstOrThrow(), costs.executeTakeFirstOrThrow()]);
  return { budget: budget.sum, creditsConsumed: consumed.sum };
}

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
  return quotaOf(ctx, user.id, organization.id);
}

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
 * one is always permitted. A lock makes other checks for this owner wait until the transaction ends: the caller must
 * store the cost in the same transaction.
 */
export async function requireQuota(ctx: Context, build: BuildCost): Promise<void> {
  const { workspaceId, ownerId, organizationId, cost, previous } = build;
  if (cost === 0 || cost < previous || !hasFeature(ctx, "template_rbac")) return;
  // The quota of a user in an organization is decided by one transaction at a time.
  await ctx.db
    .selectFrom("organizationMembers")
    .select("userId")
    .where("userId", "=", ownerId)
    .where("organizationId", "=", organizationId)
    .forNoKeyUpdate()
    .execute();
  const { budget, creditsConsumed } = await quotaOf(ctx, ownerId, organizationId, workspaceId);
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
