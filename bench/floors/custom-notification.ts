// A custom notification by hand: the user's counter, the inbox row and the audit event in one transaction.
import { v7 as uuidv7 } from "uuid";
import { ids } from "../data.js";
import { pool, readJson, serve } from "./serve.js";
import { sessionId } from "./sessions.js";

const customNotification = "39b1e189-c857-4b0c-877a-511144c18516";

const countUp = `
  insert into inbox_cursors (user_id, last_seq, unread_count) values ($1, 1, 1)
  on conflict (user_id) do update
  set last_seq = inbox_cursors.last_seq + 1, unread_count = inbox_cursors.unread_count + 1
  returning last_seq`;

const insertNotification = `
  insert into inbox_notifications (id, user_id, seq, template_id, targets, title, content, icon, actions, created_at)
  values ($1, $2, $3, '${customNotification}', '{}', $4, $5, 'DEFAULT_ICON_OTHER', '[]', now())`;

/** One audit event. `$1` id, `$2` actor, `$3` key, `$4` action, `$5` type, `$6` id, `$7` label, `$8` organization, `$9` diff, `$10` request. */
const insertAuditEvent = `
  insert into audit_events (id, time, actor_id, actor_kind, api_key_id, action, resource_type, resource_id,
    resource_label, organization_id, diff, request_id, ip, user_agent)
  values ($1, now(), $2, 'user', $3, $4, $5, $6, $7, $8, $9, $10, '127.0.0.1', null)`;

/** The user of a session by its number: this floor looks up no session. */
const userOf = (session: string): string => ids.user(session.startsWith("o") ? 0 : Number(session.slice(1)) + 1);

serve(async (request) => {
  const { content } = (await readJson(request)) as { content: { title: string; message: string } };
  const id = uuidv7();
  const key = sessionId(request);
  const user = userOf(key);
  const client = await pool.connect();
  try {
    await client.query("begin");
    const { rows } = await client.query<{ last_seq: string }>(countUp, [user]);
    await client.query(insertNotification, [id, user, rows[0]!.last_seq, content.title, content.message]);
    await client.query(insertAuditEvent, [id, user, key, "create", "inbox_notification", id, null, null, {}, uuidv7()]);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
  return undefined;
});
