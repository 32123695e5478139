import { sql } from "kysely";
import type { OrganizationRole, SiteRole, UserActor } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { anyOf, rowById } from "../kernel/queries.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const m = columnsOf("organizationMembers", "m");

/**
 * Batch read, for `ctx.load`, of users as the policy sees callers, to ask what they may do although they send no request;
 * `undefined` for those who are suspended or deleted.
 */
export async function userActors(ctx: Context, ids: readonly string[]): Promise<Array<UserActor | undefined>> {
  const users = await ctx.db
    .selectFrom("users as u")
    .select([
      "u.id",
      "u.siteRoles",
      sql<Record<string, OrganizationRole[]>>`(
        select coalesce(json_object_agg(${m.organizationId}, m.roles), '{}')
        from organization_members m where ${m.userId} = u.id)`.as("organizations"),
    ])
    .where("u.id", "=", anyOf(ids))
    .where("u.status", "=", "active")
    // Deleted users keep their status and their roles in the deployment.
    .where("u.deletedAt", "is", null)
    .execute();
  return rowById(users, ids).map((user) => user && { ...withoutRequest, ...grantsOf(user) });
}

/** Reads a user as the policy sees callers; `undefined` for one who is suspended or deleted. */
export const userActor = async (ctx: Context, id: string): Promise<UserActor | undefined> =>
  (await userActors(ctx, [id]))[0];

const withoutRequest = {
  kind: "user",
  scopes: ["all"],
  entersWorkspaces: false,
  mustChangePassword: false,
  credential: { id: "", kind: "session", expiresAt: "", parentId: null },
} as const;

const grantsOf = (user: { id: string; siteRoles: string[]; organizations: Record<string, OrganizationRole[]> }) => ({
  userId: user.id,
  siteRoles: user.siteRoles as SiteRole[],
  organizations: new Map(Object.entries(user.organizations)),
});
