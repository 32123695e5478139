import { User } from "../../entities/users.js";
import type { Context } from "../kernel/context.js";
import { foldCase } from "../../runtime/text.js";
import { foldedColumn } from "../kernel/queries.js";
import { formerAddress } from "./names.js";

/**
 * Makes an email free that a deprovisioned user has, other than `taker`: its account gets an address that receives no
 * mail, and keeps the email as its former one. To be called in the transaction in which another user takes the email. Nothing
 * changes for an email that no user has, or that is in use.
 */
export async function releaseFormerEmail(ctx: Context, email: string, taker: string | null = null): Promise<void> {
  const leaver = await ctx.db
    .selectFrom("users")
    .select("id")
    .where(foldedColumn("email"), "=", foldCase(email))
    .where("deletedAt", "is", null)
    .where("deprovisionedAt", "is not", null)
    .where("id", "is distinct from", taker)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!leaver) return;
  const user = await ctx.em.findOneOrFail(User, leaver.id);
  ctx.em.assign(user, { email: formerAddress(leaver.id), formerEmail: user.email });
  await ctx.em.flush();
}
