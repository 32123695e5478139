import type { Context } from "../kernel/context.js";
import { lookup } from "../kernel/database.js";

const byName = lookup<{ id: string }>("select id from users where is_system and username = $1");

/** Returns the id of a user that acts for the system: the server itself, or the owner of prebuilt workspaces. */
export const systemIdentity = async (ctx: Context, name: "system" | "prebuilds"): Promise<string> =>
  (await ctx.row(byName, name))!.id;
