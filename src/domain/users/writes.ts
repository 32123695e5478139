import { sql, type SqlBool } from "kysely";
import type { Context } from "../kernel/context.js";
import { conflict, onViolation, type Validation } from "../kernel/errors.js";
import { folded, foldedColumn } from "../kernel/folding.js";
import { hasUserName, isUserNameOfAnother } from "../scim/user-names.js";
import type { UserRow } from "./users.js";

/** New values of an account. Null and absent fields stay unchanged. */
export type AccountChange = {
  [Field in keyof Pick<UserRow, "email" | "username" | "name" | "avatarUrl">]?: string | null;
};

/** The faults of values that another user has. */
const takenFields = {
  email: { field: "email", detail: "This email is in use." },
  username: { field: "username", detail: "This username is in use." },
} satisfies Record<string, Validation>;

const conflictOver = (field: keyof typeof takenFields) => conflict(takenFields[field].detail, [takenFields[field]]);

const has = (column: string, value: string | null | undefined) =>
  value == null ? sql<SqlBool>`false` : sql<SqlBool>`${foldedColumn(column)} = ${folded(value)}`;

/**
 * Throws CONFLICT if another user than `id` has the email or the username, or is known by it to identity providers, with
 * one fault for each. Conflicts with concurrent transactions are left to the unique indexes.
 */
export async function requireFree(
  ctx: Context,
  { email, username }: Pick<AccountChange, "email" | "username">,
  id: string | null = null,
): Promise<void> {
  if (email == null && username == null) return;
  const hasEmail = has("u.email", email);
  const hasUsername = has("u.username", username);
  const others = await ctx.db
    .selectFrom("users as u")
    .select([hasEmail.as("hasEmail"), hasUsername.as("hasUsername")])
    .where("u.deletedAt", "is", null)
    .where((eb) => eb.or([hasEmail, hasUsername]))
    .where("u.id", "is distinct from", id)
    .execute();
  const isEmailTaken = others.some((other) => other.hasEmail);
  const isUsernameTaken =
    others.some((other) => other.hasUsername) || (username != null && (await isKnownAs(ctx, username, id)));
  if (isEmailTaken && isUsernameTaken)
    throw conflict("This email and this username are in use.", [takenFields.email, takenFields.username]);
  if (isEmailTaken || isUsernameTaken) throw conflictOver(isEmailTaken ? "email" : "username");
}

/** Whether identity providers know another user by the name by which they would know the user `id`. */
async function isKnownAs(ctx: Context, username: string, id: string | null): Promise<boolean> {
  const isNamed = sql<SqlBool>`exists(select from users u where u.id = ${id}::uuid and ${hasUserName})`;
  const { isKnown } = await ctx.db
    .selectNoFrom(sql<boolean>`${isUserNameOfAnother(username, id)} and not ${isNamed}`.as("isKnown"))
    .executeTakeFirstOrThrow();
  return isKnown;
}

/** Translates violations of the unique indexes, which concurrent transactions cause. */
export const throwTaken = onViolation({
  users_email_unique: () => conflictOver("email"),
  users_username_unique: () => conflictOver("username"),
});
