import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { inboxOwner, readInboxNotification } from "./inbox.js";

// The count moves by what was marked and is never set: items may arrive between this statement's snapshot and its lock.
const markOne = statement<{ unreadCount: number }>(`
  with mine as (select user_id from inbox_cursors where user_id = $1 for update),
  marked as (
    update inbox_notifications item set read_at = case when $3 then now() end
    from mine
    where item.id = $2 and item.user_id = mine.user_id and (item.read_at is null) = $3
    returning item.user_id
  )
  update inbox_cursors counter set unread_count = counter.unread_count + case when $3 then -1 else 1 end
  from marked
  where counter.user_id = marked.user_id
  returning unread_count as "unreadCount"`);

/** Marks a notification of the caller as read or unread. One that is so already keeps its time. */
export async function markInboxNotification(
  ctx: Context,
  { id, isRead }: { id: string; isRead: boolean },
): Promise<string> {
  await readInboxNotification(ctx, id);
  const changed = await ctx.row(markOne, inboxOwner(ctx), id, isRead);
  if (changed) publishReadChange(ctx);
  return id;
}

const markAll = statement<{ unreadCount: number }>(`
  with mine as (select user_id from inbox_cursors where user_id = $1 for update),
  marked as (
    update inbox_notifications item set read_at = now()
    from mine
    where item.user_id = mine.user_id and item.read_at is null
    returning item.user_id
  )
  update inbox_cursors counter set unread_count = counter.unread_count - marked.count
  from (select user_id, count(*)::int as count from marked group by user_id) marked
  where counter.user_id = marked.user_id
  returning unread_count as "unreadCount"`);

/** Marks everything in the caller's inbox as read. */
export async function markAllInboxNotificationsRead(ctx: Context): Promise<void> {
  const changed = await ctx.row(markAll, inboxOwner(ctx));
  if (changed) publishReadChange(ctx);
}

function publishReadChange(ctx: Context): void {
  ctx.publish({ topic: "inbox", id: `r:${inboxOwner(ctx)}` });
}
