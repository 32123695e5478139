// One prepared statement that selects the session together with the object.
import { pool, segment, serve } from "./serve.js";
import { checkSecret, isLiving, type Session, sessionId } from "./sessions.js";

interface GroupRow extends Session {
  id: string;
  name: string;
  display_name: string;
  avatar_url: string;
  quota_allowance: number;
  source: string;
  organization_id: string;
  organization_name: string;
  organization_display_name: string;
  total_member_count: number;
}

const text = `
  select g.id, g.name, g.display_name, g.avatar_url, g.quota_allowance, g.source,
    o.id as organization_id, o.name as organization_name, o.display_name as organization_display_name,
    (select count(*)::int from group_members m join users u on u.id = m.user_id
      where m.group_id = g.id and u.deleted_at is null and not u.is_system) as total_member_count, k.secret_hash
  from groups g join organizations o on o.id = g.organization_id,
    api_keys k join users s on s.id = k.user_id
  where g.id = $1 and k.id = $2 and ${isLiving}`;

serve(async (request) => {
  const values = [segment(request, 4), sessionId(request)];
  const { rows } = await pool.query<GroupRow>({ name: "group", text, values });
  const [row] = rows;
  if (!row) throw new Error("not found");
  checkSecret(request, row.secret_hash);
  return JSON.stringify({
    avatar_url: row.avatar_url,
    display_name: row.display_name,
    id: row.id,
    name: row.name,
    organization_display_name: row.organization_display_name,
    organization_id: row.organization_id,
    organization_name: row.organization_name,
    quota_allowance: row.quota_allowance,
    source: row.source,
    total_member_count: row.total_member_count,
    members: [],
  });
});
