// Owners are told of claims that no mapping can read, since nothing else shows to the people whom it concerns.
import { sql, type SqlBool } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Context } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { now } from "../kernel/queries.js";
import { accountNotifications } from "../notifications/templates/account-notifications.js";
import { tellAdministrators } from "../users/account-notices.js";
import type { KnownProvider } from "./provider-registry.js";

const f = columnsOf("signInFaults", "sign_in_faults");

/** The condition that owners were told within a day. */
const isKnown = sql<SqlBool>`${f.toldAt} > now() - interval '1 day'`;

/** Tells owners of a malformed claim of a person, unless they were told of this claim of the provider within a day. */
export async function tellOfFault(
  ctx: Context,
  { id, label, settings: { name: provider } }: Pick<KnownProvider, "id" | "label" | "settings">,
  claim: string,
  username: string,
): Promise<void> {
  const fault = `malformed ${claim}`;
  const known = ctx.db.selectFrom("signInFaults").select("provider").where("provider", "=", provider);
  // Sign-ins do not wait for each other where the fault is known.
  if (await known.where("fault", "=", fault).where(isKnown).executeTakeFirst()) return;
  const { numInsertedOrUpdatedRows } = await ctx.db
    .insertInto("signInFaults")
    .values({ provider, fault, toldAt: now })
    .onConflict((on) =>
      on
        .columns(["provider", "fault"])
        .doUpdateSet({ toldAt: now })
        .where((eb) => eb.not(isKnown)),
    )
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows !== 1n) return;
  tellAdministrators(ctx, {
    template: accountNotifications.malformedClaim,
    audience: "owners",
    about: id ?? newId(),
    labels: { provider: label, claim, username },
  });
}
