import type { Ending } from "../kernel/endings.js";
import { DomainError, onViolation } from "../kernel/errors.js";
import { type Sql, sql } from "../kernel/sql.js";
import type { Values } from "./evaluate.js";
import { notUnique } from "./faults.js";
import type { Provisioner } from "./provisioner.js";
import type { WantedUser } from "./user-mapping.js";

/** The columns of a row that come from a written link which has the userName. */
export const linkOf = ({ source }: Provisioner, { externalId, userName, kept }: WantedUser) => ({
  externalId,
  userName,
  nameSource: source,
  attributes: kept,
});

/** The link of a source to a new user, by the columns of `scim_user_links`. */
interface NewLink {
  source: string;
  user_id: string;
  external_id: string | null;
  user_name: string;
  attributes: Values;
}

/** The part of the last statement of a transaction that links new users. */
export const linkingNew: Ending<NewLink> = (rows) => sql`
  linked as (
    insert into scim_user_links (source, user_id, external_id, user_name, attributes)
    select source, user_id, external_id, user_name, attributes
    from json_populate_recordset(null::scim_user_links, ${rows})
  )`;

/**
 * Tables of a statement that writes a user: the link of the source, which sees the user from now on. `userName` is null if
 * the link of another source has it, else it is taken over from that link. Triggers copy changes of the account to the
 * other links only, since the setting names the source of this one.
 */
export const linking = ({ source }: Provisioner, { externalId, kept }: WantedUser, userName: string | null): Sql => sql`
  yielded as (
    update scim_user_links l set user_name = null from written
    where l.user_id = written.id and l.source <> ${source} and l.deprovisioned_at is null and ${userName}::text is not null
    returning l.source
  ), linked as (
    insert into scim_user_links (source, user_id, external_id, user_name, attributes)
    select ${source}, written.id, ${externalId}::text, ${userName}::text, ${JSON.stringify(kept)}::jsonb
    from written, set_config('steward.scim_source', ${source}, true), (select count(*) from yielded) as y
    on conflict (source, user_id) do update set external_id = excluded.external_id, user_name = excluded.user_name,
      attributes = excluded.attributes, deprovisioned_at = null
  )`;

/** Table of a statement that writes a user: the link of the source, which hides the user from it. */
export const deprovisioning = ({ source }: Provisioner): Sql => sql`
  hidden as (
    insert into scim_user_links (source, user_id, attributes, deprovisioned_at)
    select ${source}, id, scim_attributes(email, name, username, avatar_url), now() from written
    on conflict (source, user_id) do update set deprovisioned_at = now()
  )`;

const conflicts: Record<string, string> = { email: "emails", username: "userName" };

const throwUnique = onViolation({
  scim_user_links_external_id_unique: () => notUnique("externalId"),
  scim_user_links_user_name_unique: () => notUnique("userName"),
});

/** Names conflicts over values of accounts and links by their SCIM attributes. */
export function asUniqueness(error: unknown): never {
  const field = error instanceof DomainError && error.code === "CONFLICT" && error.details.validations?.[0]?.field;
  if (field && conflicts[field]) throw notUnique(conflicts[field]);
  return throwUnique(error);
}
