import { sql, type SqlBool } from "kysely";
import { folded, foldedColumn } from "../kernel/text.js";

/** Whether the user `u` has a userName at an identity provider: without one, it is known by its username. */
export const hasUserName = sql<SqlBool>`exists(
  select from scim_user_links n where n.user_id = u.id and n.user_name is not null and n.deprovisioned_at is null)`;

/** Whether identity providers know another user than `id` by a name, which has it as its userName. */
export const isUserNameOfAnother = (name: string, id: string | null) => sql<SqlBool>`exists(
  select from scim_user_links n
  where ${foldedColumn("n.userName")} = ${folded(name)} and n.deprovisioned_at is null and n.user_id is distinct from ${id}::uuid)`;
