// One prepared select of the session with the latest 50 notifications of its user.
import { pool, readJson, serve } from "./serve.js";
import { checkSecret, isLiving, type Session, sessionId } from "./sessions.js";

interface NotificationRow extends Session {
  id: string;
  template_id: string;
  targets: string[];
  title: string;
  content: string;
  icon: string;
  actions: Array<{ label: string; url: string }>;
  created_at: Date;
  read_at: Date | null;
  unread_count: number;
}

const text = `
  select i.id, i.template_id, i.targets, i.title, i.content, i.icon, i.actions, i.created_at, i.read_at,
    c.unread_count, k.secret_hash
  from api_keys k join users s on s.id = k.user_id join inbox_cursors c on c.user_id = s.id
    join inbox_notifications i on i.user_id = s.id
  where k.id = $1 and ${isLiving}
  order by i.created_at desc, i.id desc limit 51`;

serve(async (request) => {
  await readJson(request);
  const { rows } = await pool.query<NotificationRow>({ name: "inbox", text, values: [sessionId(request)] });
  const [row] = rows;
  if (!row) throw new Error("unauthenticated");
  checkSecret(request, row.secret_hash);
  const inboxNotifications = {
    nodes: rows.slice(0, 50).map(spell),
    pageInfo: { hasNextPage: rows.length > 50 },
    unreadCount: row.unread_count,
  };
  return JSON.stringify({ data: { inboxNotifications } });
});

/** The notification as the document selects it. */
const spell = (row: NotificationRow) => ({
  id: row.id,
  templateId: row.template_id,
  targets: row.targets,
  title: row.title,
  content: row.content,
  icon: row.icon,
  actions: row.actions.map(({ label, url }) => ({ label, url })),
  createdAt: row.created_at,
  readAt: row.read_at,
});
