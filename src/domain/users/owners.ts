import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { conflict } from "../kernel/errors.js";
import type { UserRow } from "./users.js";

const lockOwners = statement("select pg_advisory_xact_lock(hashtext('steward.owners'))");

const anotherOwner = statement<{ exists: boolean }>(`
  select exists(
    select from users
    where 'owner' = any(site_roles) and status = 'active' and not is_service_account and deleted_at is null and id <> $1
  )`);

/**
 * Refuses to go on without an owner: at least one who is active and no service account is left when `user` is none any
 * more. Whoever takes an owner away waits here for the others who do, until their transactions end.
 */
export async function requireAnotherOwner(ctx: Context, user: UserRow): Promise<void> {
  if (!user.siteRoles.includes("owner") || user.status !== "active" || user.isServiceAccount) return;
  // Two statements in one round trip: the second sees what was committed while the first waited.
  const [, [another]] = await Promise.all([ctx.rows(lockOwners), ctx.rows(anotherOwner, user.id)]);
  if (!another?.exists) throw conflict("This is the last active owner. Make somebody else an owner first.");
}
