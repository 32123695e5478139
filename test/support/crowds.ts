// Many users, inserted directly into the tables: creating them by requests would take minutes.
import { newId } from "./ids.js";
import { insert } from "./stage.js";
import type { World } from "./world.js";

/** Columns of a user; those that are omitted take defaults. */
export interface Columns {
  id?: string;
  username: string;
  email?: string;
  [column: string]: unknown;
}

/** Inserts users, as members of an organization and of a group of it unless told otherwise. Returns their ids. */
export async function insertUsers(
  w: World,
  users: Columns[],
  { organization, group }: { organization?: string; group?: string } = {},
): Promise<string[]> {
  const rows = users.map(({ id = newId(), username, email = `${username}@example.com`, ...more }) => ({
    id,
    created_at: "now",
    updated_at: "now",
    email,
    username,
    name: "",
    login_type: "password",
    status: "active",
    site_roles: [],
    last_seen_at: null,
    ...more,
  }));
  const members = (more: object) => rows.map(({ id }) => ({ organization_id: organization, user_id: id, ...more }));
  await insert(w, {
    users: rows,
    ...(organization && { organization_members: members({ created_at: "now" }) }),
    ...(group && { group_members: members({ group_id: group, created_at: "now" }) }),
  });
  return rows.map(({ id }) => id);
}
