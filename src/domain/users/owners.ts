import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { conflict } from "../kernel/errors.js";
import { takeTurn } from "../kernel/locks.js";
import type { UserRow } from "./users.js";

const anotherOwner = statement<{ exists: boolean }>(`
  select exists(
    select from users
    where 'owner' = any(site_roles) and status = 'active' and not is_service_account and deleted_at is null and id <> $1
  )`);

/**
 * Throws CONFLICT if `user` is the last active owner, service accounts not counted. To be called before the user is
 * deleted or suspended or loses the role. Serializes such transactions, so that two of them cannot remove the last two.
 */
export async function requireAnotherOwner(ctx: Context, user: UserRow): Promise<void> {
  if (!user.siteRoles.includes("owner") || user.status !== "active" || user.isServiceAccount) return;
  // One round trip. The second statement sees what was committed while the first waited for the lock.
  const [, [another]] = await Promise.all([takeTurn(ctx, "owners"), ctx.rows(anotherOwner, user.id)]);
  if (!another?.exists) throw conflict("This is the last active owner. Make another user an owner first.");
}
