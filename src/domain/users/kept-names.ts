import { sql, type SqlBool } from "kysely";
import { selectPermitted } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { anyOf, foldedColumn } from "../kernel/queries.js";
import { foldCase, isUuid } from "../../runtime/text.js";
import { isReadableUser } from "./users.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const u = columnsOf("users", "u");

/** Users by what logs keep of them: each is one of these. Names and emails are folded. */
export interface KeptNames {
  ids?: readonly string[];
  usernames?: readonly string[];
  emails?: readonly string[];
}

/**
 * Reads references to users in a log: IDs, usernames, emails, or `me`. They need not exist any more: logs outlive users, and
 * keep the names that these had.
 */
export function keptNames({ actor }: Context, references: readonly string[]): KeptNames {
  const all = references.map((reference) => (reference === "me" ? (userIdOf(actor) ?? reference) : reference));
  const names = all.filter((each) => !isUuid(each)).map(foldCase);
  return {
    ids: all.filter(isUuid).map((id) => id.toLowerCase()),
    usernames: names.filter((name) => !name.includes("@")),
    emails: names.filter((name) => name.includes("@")),
  };
}

/** The columns of a log that identify a user. */
interface Columns {
  id: string;
  username: string;
  email: string;
  /** All folded emails of a row, as an index of arrays has them. Absent if that of `email` has an index. */
  emails?: ReturnType<typeof sql>;
  /** The organization that a user was a member of, if `wasMember`. Absent if the log does not tell. */
  organization?: string;
  /** The condition of rows that show that the user was a member. Default: all. */
  wasMember?: ReturnType<typeof sql<SqlBool>>;
}

/**
 * The filter of a log by users: finds the rows of those who had the names then, and none of those who took them later.
 * Emails match those that the caller may know: of all users, of those that the caller may read, or of deleted users whom
 * the caller could read in the organization of the row.
 */
export const byKeptNames =
  (columns: Columns) =>
  (_: unknown, { ids = [], usernames = [], emails = [] }: KeptNames, ctx: Context) => {
    const { id, username, email } = columns;
    const parts = [
      ...(ids.length > 0 ? [sql<SqlBool>`${sql.ref(id)} = ${oneOf(ids, "uuid")}`] : []),
      ...(usernames.length > 0 ? [isKept(username, usernames)] : []),
      ...(emails.length > 0
        ? [sql<SqlBool>`(${isAmong(columns, emails)} and ${isKept(email, emails)} and ${mayKnow(ctx, columns)})`]
        : []),
    ];
    return parts.length === 0 ? sql<SqlBool>`false` : sql<SqlBool>`(${sql.join(parts, sql` or `)})`;
  };

/** The condition on a column, and that of its partial index. */
const isKept = (column: string, values: readonly string[]) =>
  sql<SqlBool>`(${foldedColumn(column)} = ${oneOf(values, "text")} and ${sql.ref(column)} is not null)`;

const isAmong = ({ emails }: Columns, values: readonly string[]) =>
  emails ? sql<SqlBool>`${emails} && ${values}::text[]` : sql<SqlBool>`true`;

/** One value leaves the order of an index. */
const oneOf = (values: readonly string[], type: "uuid" | "text") =>
  values.length === 1 ? (type === "uuid" ? sql`${values[0]}::uuid` : sql`${values[0]}::text`) : anyOf(values, type);

/** Any other match would disclose an address. The memberships of deleted users are gone. */
function mayKnow(ctx: Context, { id, organization, wasMember = sql<SqlBool>`true` }: Columns) {
  const { organizations } = selectPermitted(ctx.actor, "user:read");
  const wasReadable =
    organization === undefined || organizations.length === 0
      ? sql<SqlBool>`false`
      : sql<SqlBool>`(${u.deletedAt} is not null and ${sql.ref(organization)} = ${anyOf(organizations)} and ${wasMember})`;
  return sql<SqlBool>`exists(select from users u where u.id = ${sql.ref(id)} and (${isReadableUser(ctx)} or ${wasReadable}))`;
}
