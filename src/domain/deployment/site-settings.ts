import { type AuditEntry, sidesOf } from "../kernel/audit.js";
import type { Context } from "../kernel/context.js";
import { differing, isEmpty } from "../kernel/changed-fields.js";

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

export async function readSiteSetting<Value extends object>(
  { db }: Pick<Context, "db">,
  setting: SiteSetting<Value>,
): Promise<Value> {
  const stored = db.selectFrom("siteSettings").select("value").where("key", "=", setting.key);
  return { ...setting.initially, ...(await stored.executeTakeFirst())?.value };
}

/** Replaces a setting as a whole, and records what changes as a change of a resource. Returns whether anything does. */
export async function replaceSiteSetting<Value extends object>(
  ctx: Context,
  setting: SiteSetting<Value>,
  value: Value,
  resource: Pick<AuditEntry, "resourceType" | "resourceId" | "resourceLabel">,
): Promise<boolean> {
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
  const before: Value = { ...setting.initially, ...former };
  const changes = differing(before, value);
  if (isEmpty(changes)) return false;
  ctx.audit({ action: "update", ...resource, diff: sidesOf(before, changes) });
  return true;
}
