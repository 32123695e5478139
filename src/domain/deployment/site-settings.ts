import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";

/** One subject that is set for the whole deployment. What its stored value lacks is as `initially`. */
export interface SiteSetting<Value extends object> {
  readonly key: string;
  readonly initially: Value;
}

/** Declares a setting: its key (at most 32 characters) and what counts until somebody sets it. */
export const siteSetting = <Value extends object>(key: string, initially: Value): SiteSetting<Value> => ({
  key,
  initially,
});

const valueByKey = statement<{ value: object }>("select value from site_settings where key = $1");

export async function readSiteSetting<Value extends object>(ctx: Context, setting: SiteSetting<Value>): Promise<Value> {
  return { ...setting.initially, ...(await ctx.row(valueByKey, setting.key))?.value };
}

// The row keeps what it replaced: so one statement replaces it and tells what was there, whoever else does the same.
const replaceValue = statement<{ former: object | null }>(`
  insert into site_settings as s (key, value) values ($1, $2)
  on conflict (key) do update set value = excluded.value, former = s.value
  returning former`);

/** Replaces a setting as a whole and returns what it was before. */
export async function replaceSiteSetting<Value extends object>(
  ctx: Context,
  setting: SiteSetting<Value>,
  value: Value,
): Promise<Value> {
  return { ...setting.initially, ...(await ctx.row(replaceValue, setting.key, value))?.former };
}
