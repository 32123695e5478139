import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { inboxOwner, readInboxNotification } from "./inbox.js";

// Locks the cursor row first, so that the epoch and the count include all earlier changes of the inbox.
const markOne = statement<{ unreadCount: number }>(`
  with mine as (select user_id, epoch from inbox_cursors where user_id = $1 for update),
  marked as (
    update inbox_notifications item set read_at = case when $3 then now() end, epoch = mine.epoch
    from mine
    where item.id = $2 and item.user_id = mine.user_id and (item.read_at is null and item.epoch = mine.epoch) = $3
    returning item.user_id
  )
  update inbox_cursors counter set unread_count = counter.unread_count + case when $3 then -1 else 1 end
  from marked
  where counter.user_id = marked.user_id
  returning unread_count as "unreadCount"`);

/** Marks a notification of the caller as read or unread. Returns its id. A repeated mark keeps its time. */
export async function markInboxNotification(
  ctx: Context,
  { id, isRead }: { id: string; isRead: boolean },
): Promise<string> {
  await readInboxNotification(ctx, id);
  const changed = await ctx.row(markOne, inboxOwner(ctx), id, isRead);
  if (changed) publishReadChange(ctx);
  return id;
}

// Writes two rows, regardless of the number of unread notifications. The end is later than the arrival of each, because
// the update may have waited for transactions that added some.
const endEpoch = statement<{ epoch: number }>(`
  with mine as (
    update inbox_cursors set epoch = epoch + 1, unread_count = 0
    where user_id = $1 and unread_count > 0
    returning user_id, epoch - 1 as ended
  )
  insert into inbox_epochs (user_id, epoch, ended_at) select user_id, ended, clock_timestamp() from mine
  returning epoch`);

/** Marks all notifications of the caller as read. */
export async function markAllInboxNotificationsRead(ctx: Context): Promise<void> {
  const changed = await ctx.row(endEpoch, inboxOwner(ctx));
  if (changed) publishReadChange(ctx);
}

function publishReadChange(ctx: Context): void {
  ctx.publish({ topic: "inbox", id: `r:${inboxOwner(ctx)}` });
}
