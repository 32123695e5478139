import type { Context } from "../kernel/context.js";

/** A setting of the whole deployment. `initially` supplies properties that the stored value lacks. */
export interface SiteSetting<Value extends object> {
  readonly key: string;
  readonly initially: Value;
}

/** Declares a setting: its key (at most 32 characters) and its initial value. */
export const siteSetting = <Value extends object>(key: string, initially: Value): SiteSetting<Value> => ({
  key,
  initially,
});

export async function readSiteSetting<Value extends object>(ctx: Context, setting: SiteSetting<Value>): Promise<Value> {
  const stored = ctx.db.selectFrom("siteSettings").select("value").where("key", "=", setting.key);
  return { ...setting.initially, ...(await stored.executeTakeFirst())?.value };
}

/** Replaces a setting as a whole. Returns the former value. */
export async function replaceSiteSetting<Value extends object>(
  ctx: Context,
  setting: SiteSetting<Value>,
  value: Value,
): Promise<Value> {
  // The row keeps the former value, so that one statement replaces and returns it.
  const { former } = await ctx.db
    .insertInto("siteSettings")
    .values({ key: setting.key, value })
    .onConflict((conflict) =>
      conflict
        .column("key")
        .doUpdateSet((eb) => ({ value: eb.ref("excluded.value"), former: eb.ref("siteSettings.value") })),
    )
    .returning("former")
    .executeTakeFirstOrThrow();
  return { ...setting.initially, ...former };
}
