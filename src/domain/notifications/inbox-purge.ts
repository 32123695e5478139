import type { Config } from "../../config/config.js";
import { type Database, statement } from "../kernel/database.js";
import { hour } from "../kernel/purge.js";

/** Number of inboxes that one statement cleans. */
const batch = 100;

const lowestId = "00000000-0000-0000-0000-000000000000";

// Locks the cursor row first, as every change of an inbox does. The count of unread notifications stays exact.
const cleanInboxes = statement<{ lastUserId: string }>(`
  with mine as (
    select user_id, epoch from inbox_cursors where user_id > $1 order by user_id limit ${batch} for update
  ), doomed as (
    select item.id, item.user_id, item.is_unread
    from mine cross join lateral (
      select id, user_id, created_at, read_at is null and epoch = mine.epoch as is_unread, row_number() over (
        order by (read_at is null and epoch = mine.epoch) desc, created_at desc, id desc
      ) as place
      from inbox_notifications where user_id = mine.user_id
    ) item
    where place > $2 or created_at <= now() - make_interval(secs => case when is_unread then $3::float8 else $4::float8 end)
  ), deleted as (
    delete from inbox_notifications item using doomed where item.id = doomed.id
  ), counted as (
    update inbox_cursors counter set unread_count = counter.unread_count - unread.number
    from (select user_id, count(*) as number from doomed where is_unread group by user_id) unread
    where counter.user_id = unread.user_id
  )
  select max(user_id::text) as "lastUserId" from mine`);

/** Deletes old notifications from inboxes, and the oldest of inboxes that are full, read ones first. */
export const inboxPurge = {
  name: "purge inboxes",
  every: hour,
  async run({ config, database }: { config: Config; database: Database }): Promise<void> {
    const { inboxMax, inboxUnreadRetention, inboxReadRetention } = config;
    const limits = [inboxMax, inboxUnreadRetention / 1000, inboxReadRetention / 1000];
    for (let last: string | null = lowestId; last !== null;)
      last = (await database.query(cleanInboxes, [last, ...limits]))[0]!.lastUserId;
  },
};
