import type { Diff } from "../audit/audit.js";
import type { GroupLink } from "../groups/changes.js";
import { onViolation } from "../kernel/errors.js";
import { sql } from "../kernel/sql.js";
import { notUnique } from "./faults.js";
import type { Provisioner } from "./provisioner.js";

/** What an identity provider calls a group. */
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
 * The link of the source to a group. `displayName` is null if the link of another source has it, else it is taken over
 * from that link. Triggers end the displayName of other links only when the group is renamed, since the setting names the source of this one.
 */
export const linking = (
  { source }: Provisioner,
  { externalId }: Called,
  displayName: string | null,
  diff: Diff,
): GroupLink => ({
  externalId,
  diff,
  tables: sql`
    yielded as (
      update scim_group_links l set display_name = null from written
      where l.group_id = written.id and l.source <> ${source} and ${displayName}::text is not null
      returning l.source
    ), linked as (
      insert into scim_group_links (source, group_id, organization_id, external_id, display_name)
      select ${source}, written.id, written.organization_id, ${externalId}::text, ${displayName}::text
      from written, set_config('steward.scim_source', ${source}, true), (select count(*) from yielded) as y
      on conflict (source, group_id) do update set external_id = excluded.external_id,
        display_name = excluded.display_name
    )`,
});

/** Names conflicts over links by their SCIM attributes. */
export const asUniqueness = onViolation({
  scim_group_links_external_id_unique: () => notUnique("externalId"),
  scim_group_links_display_name_unique: () => notUnique("displayName"),
});
