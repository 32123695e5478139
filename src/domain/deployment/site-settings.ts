import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";

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

const valueByKey = statement<{ value: object }>("select value from site_settings where key = $1");

export async function readSiteSetting<Value extends object>(ctx: Context, setting: SiteSetting<Value>): Promise<Value> {
  return { ...setting.initially, ...(await ctx.row(valueByKey, setting.key))?.value };
}

// The row keeps the former value, so that one statement atomically replaces and returns it.
const replaceValue = statement<{ former: object | null }>(`
  insert into site_settings as s (key, value) values ($1, $2)
  on conflict (key) do update set value = excluded.value, former = s.value
  returning former`);

/** Replaces a setting as a whole. Returns the former value. */
export async function replaceSiteSetting<Value extends object>(
  ctx: Context,
  setting: SiteSetting<Value>,
  value: Value,
): Promise<Value> {
  return { ...setting.initially, ...(await ctx.row(replaceValue, setting.key, value))?.former };
}
