import type { Context } from "../kernel/context.js";

/** Returns the id of a user that acts for the system: the server itself, or the owner of prebuilt workspaces. */
export async function systemIdentity({ db }: Context, username: "system" | "prebuilds"): Promise<string> {
  const users = db.selectFrom("users").select("id").where("isSystem", "=", true).where("username", "=", username);
  return (await users.executeTakeFirstOrThrow()).id;
}
