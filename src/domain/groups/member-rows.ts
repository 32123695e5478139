import { User } from "../../entities/users.js";
import { columnsOf } from "../kernel/columns.js";
import { jsonOf, type JsonRows, rowsOf } from "../kernel/json.js";
import { given, raw, type Sql, sql } from "../kernel/sql.js";
import { rfc3339 } from "../../infrastructure/database/parsers.js";
import { userColumns, type UserRow } from "../users/users.js";

type Profile = Pick<UserRow, "id" | "username" | "name" | "avatarUrl">;

/** A user in a group. */
export interface GroupMemberRow {
  user: Profile;
  /** The same user: callers who may read a member may read its whole account. Holds what was read of it. */
  account: UserRow;
  /** When the user was added. Null in Everyone, absent if it was not read. */
  addedAt?: string | null;
}

/** A page of members as JSON. */
export interface MembersJson {
  members: JsonRows;
  /** When each was added, by the id of the user; absent if it was not read, null if no member has a time. */
  addedAt?: Readonly<Record<string, string>> | null;
}

/** How a page reads members from users `u`: the columns that it sorts, and statements of the page as `MembersJson`. */
export interface Reader {
  columns: Sql;
  asJson: (users: Sql) => Sql;
}

/** Everyone has no rows in `group_members`, and no times. */
const addedAt = sql`
  select json_object_agg(m.user_id, m.created_at) from group_members m
  where m.group_id = g.id and m.organization_id = g.organization_id and m.user_id = any(array(select id from page))`;

/** Readers of columns with or without the times at which members were added. */
function readersOf(selected: string): Record<"plain" | "dated", Reader> {
  const columns = raw(selected.replace(/ as "\w+"/g, ""));
  const members = raw(jsonOf(selected));
  return {
    plain: { columns, asJson: (users) => sql`select json_build_object('members', ${members}) from (${users}) u` },
    dated: {
      columns,
      asJson: (users) => sql`
        with page as materialized (${users})
        select json_build_object('members', (select ${members} from page u), 'addedAt', (${addedAt}))`,
    },
  };
}

const profile = ["id", "username", "name", "avatarUrl"] as const;
const member = ["email", "status", "loginType", "isServiceAccount", "lastSeenAt", "createdAt", "updatedAt"] as const;

/** Readers of whole accounts, of the member form of the REST API, and of profiles. */
export const memberReaders = {
  accounts: readersOf(userColumns),
  members: readersOf(columnsOf(User, "u", [...profile, ...member])),
  profiles: readersOf(columnsOf(User, "u", profile)),
};

/** Returns the members of a page. */
export function membersIn({ members, addedAt: times }: MembersJson): GroupMemberRow[] {
  const timeOf = (id: string) => given(times?.[id], rfc3339) ?? null;
  return rowsOf<UserRow>(members).map((user) => ({
    user,
    account: user,
    ...(times !== undefined && { addedAt: timeOf(user.id) }),
  }));
}
