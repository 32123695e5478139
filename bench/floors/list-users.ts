// One prepared select of the session with a page of 50 users.
import { pool, readJson, serve } from "./serve.js";
import { checkSecret, isLiving, type Session, sessionId } from "./sessions.js";

interface UserRow extends Session {
  id: string;
  username: string;
  name: string;
  email: string;
  avatar_url: string;
  status: string;
  login_type: string;
  last_seen_at: Date | null;
  created_at: Date;
  site_roles: string[];
  held: string[] | null;
}

const text = `
  select u.id, u.username, u.name, u.email, u.avatar_url, u.status, u.login_type, u.last_seen_at, u.created_at,
    u.site_roles, k.secret_hash,
    (select array_agg(role) from organization_members m, unnest(m.roles) role where m.user_id = u.id) as held
  from users u, api_keys k join users s on s.id = k.user_id
  where u.deleted_at is null and not u.is_system and k.id = $1 and ${isLiving}
  order by lower(u.username collate "C"), u.id limit 51`;

serve(async (request) => {
  await readJson(request);
  const { rows } = await pool.query<UserRow>({ name: "users", text, values: [sessionId(request)] });
  const [row] = rows;
  if (!row) throw new Error("unauthenticated");
  checkSecret(request, row.secret_hash);
  const users = { nodes: rows.slice(0, 50).map(spell), pageInfo: { hasNextPage: rows.length > 50 } };
  return JSON.stringify({ data: { users } });
});

const enumName = (value: string) => value.toUpperCase().replaceAll("-", "_");

/** The user as the document selects it. */
const spell = (row: UserRow) => ({
  id: row.id,
  username: row.username,
  name: row.name,
  email: row.email,
  avatarUrl: row.avatar_url,
  status: enumName(row.status),
  loginType: enumName(row.login_type),
  lastSeenAt: row.last_seen_at,
  createdAt: row.created_at,
  roles: [...row.site_roles, ...(row.held ?? [])].map((role) => ({ name: enumName(role) })),
});
