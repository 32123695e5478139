import type { Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";

const deleteOldest = statement<{ id: string }>(`
  with deleted as (
    delete from connection_logs where id in (
      select id from connection_logs where connect_time < now() - make_interval(secs => $1)
      order by connect_time, id limit 10000 for update skip locked
    )
    returning id
  )
  select id from deleted limit 1`);

/** Deletes connections that have outlived `STEWARD_CONNECTION_LOG_RETENTION`, 10,000 at a time. */
export async function deleteOldConnectionLogs({ database, config }: Services): Promise<void> {
  if (config.connectionLogRetention > 0) await database.exhaust(deleteOldest, config.connectionLogRetention / 1000);
}
