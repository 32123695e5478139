// A custom notification by hand: the user's counter, the inbox row and the audit event in one transaction.
import { v7 as uuidv7 } from "uuid";
import { insertAuditEvent } from "./audit.js";
import { pool, readJson, serve } from "./serve.js";
import { sessionId } from "./sessions.js";
import { userOf } from "./users.js";
import { inTransaction } from "./transactions.js";

const customNotification = "39b1e189-c857-4b0c-877a-511144c18516";

const countUp = `
  insert into inbox_cursors (user_id, last_seq, unread_count) values ($1, 1, 1)
  on conflict (user_id) do update
  set last_seq = inbox_cursors.last_seq + 1, unread_count = inbox_cursors.unread_count + 1
  returning last_seq`;

const insertNotification = `
  insert into inbox_notifications (id, user_id, seq, template_id, targets, title, content, icon, actions, created_at)
  values ($1, $2, $3, '${customNotification}', '{}', $4, $5, 'DEFAULT_ICON_OTHER', '[]', now())`;

serve(async (request) => {
  const { content } = (await readJson(request)) as { content: { title: string; message: string } };
  const [id, key] = [uuidv7(), sessionId(request)];
  const user = userOf(key);
  await inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ last_seq: string }>(countUp, [user]);
    await client.query(insertNotification, [id, user, rows[0]!.last_seq, content.title, content.message]);
    await client.query(insertAuditEvent, [id, user, key, "create", "inbox_notification", id, null, null, {}, uuidv7()]);
  });
  return undefined;
});
