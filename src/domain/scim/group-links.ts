import { sql, type SqlBool } from "kysely";
import type { Diff } from "../kernel/audit.js";
import type { Context } from "../kernel/context.js";
import { onViolation } from "../kernel/errors.js";
import { cleanLabel, foldCase } from "../../runtime/text.js";
import { foldedColumn, anyOf, now } from "../kernel/queries.js";
import { isValid } from "../kernel/values.js";
import { groupName } from "../groups/groups.js";
import { fault, notUnique } from "./faults.js";
import { matchDisplayName } from "./group-rows.js";
import { groupDisplay } from "./user-rows.js";
import type { Provisioner } from "./provisioner.js";
import { firstFree, numberNames, slug } from "../users/derived-usernames.js";
import { longestGroupName } from "../../entities/groups.js";
import { longestLabel } from "../../entities/lengths.js";

/** The names that an identity provider has for a group. */
interface Called {
  externalId: string | null;
  displayName: string;
}

/** How the link to a group changes, for the audit log. */
export function linkDiff({ externalId, displayName }: Called, wanted: Called): Diff {
  const diff: Diff = {};
  if (wanted.externalId !== externalId) diff.externalId = { old: externalId ?? "", new: wanted.externalId ?? "" };
  if (wanted.displayName !== displayName) diff.scimDisplayName = { old: displayName, new: wanted.displayName };
  return diff;
}

/**
 * Writes the link of a source to a locked group. Moves `displayName` from the links of other sources to this one; null
 * leaves it at the link of another source.
 */
export async function writeLink(
  ctx: Context,
  { source }: Provisioner,
  { id: groupId, organizationId }: { id: string; organizationId: string },
  { externalId, displayName }: { externalId: string | null; displayName: string | null },
): Promise<void> {
  // When a group is renamed, triggers clear the displayName of its links, except for the source in this setting.
  await sql`select set_config('steward.scim_source', ${source}, true)`.execute(ctx.db);
  if (displayName !== null)
    await ctx.db
      .updateTable("scimGroupLinks")
      .set({ displayName: null })
      .where("groupId", "=", groupId)
      .where("source", "<>", source)
      .execute();
  await ctx.db
    .insertInto("scimGroupLinks")
    .values({ source, groupId, organizationId, externalId, displayName })
    .onConflict((on) => on.columns(["source", "groupId"]).doUpdateSet({ externalId, displayName }))
    .execute()
    .catch(throwNotUnique);
  await ctx.db
    .updateTable("groups")
    .set(({ eb }) => ({ externalId, scimVersion: eb("scimVersion", "+", 1), updatedAt: now }))
    .where("id", "=", groupId)
    .execute();
}

/** Names conflicts over links by their SCIM attributes. */
const throwNotUnique = onViolation({
  scim_group_links_external_id_unique: () => notUnique("externalId"),
  scim_group_links_display_name_unique: () => notUnique("displayName"),
});

/**
 * Derives the name and the display name of a group from a SCIM displayName. `id` is null for a new group. The caller
 * has locked the organization or the group. Throws CONFLICT if another visible group has the displayName.
 */
export async function namesFor(ctx: Context, organizationId: string, displayName: string, id: string | null) {
  const named = await ctx.db
    .selectFrom("groups as g")
    .select("g.id")
    .where("g.organizationId", "=", organizationId)
    .where("g.id", "is distinct from", id)
    .where(sql<SqlBool>`g.id = any(array(${matchDisplayName(displayName)}))`)
    .where(sql<SqlBool>`lower(${groupDisplay} collate "C") = ${foldCase(displayName)}`)
    .executeTakeFirst();
  if (named) throw notUnique("displayName");
  const base = slug(displayName, longestGroupName);
  const names = numberNames(isValid(groupName, base) ? base : "group", longestGroupName);
  const free = await firstFree(names, (folded) =>
    ctx.db
      .selectFrom("groups")
      .select(foldedColumn("name").as("name"))
      .where("organizationId", "=", organizationId)
      .where("id", "is distinct from", id)
      .where(foldedColumn("name"), "=", anyOf(folded, "text")),
  );
  if (free === undefined) throw fault("invalidValue", "Too many groups have a similar displayName.", "displayName");
  return { name: free, displayName: cleanLabel(displayName, longestLabel) };
}
