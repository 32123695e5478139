import { sql, type SqlBool } from "kysely";
import { foldCase } from "../../runtime/text.js";
import { foldedColumn } from "../kernel/queries.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const n = columnsOf("scimUserLinks", "n");

/** Whether the user `u` has a userName at an identity provider: without one, it is known by its username. */
export const hasUserName = sql<SqlBool>`exists(
  select from scim_user_links n where ${n.userId} = u.id and ${n.userName} is not null and ${n.deprovisionedAt} is null)`;

/** Whether identity providers know another user than `id` by a name, which has it as its userName. */
export const isUserNameOfAnother = (name: string, id: string | null) => sql<SqlBool>`exists(
  select from scim_user_links n
  where ${foldedColumn("n.userName")} = ${foldCase(name)} and ${n.deprovisionedAt} is null and ${n.userId} is distinct from ${id}::uuid)`;
