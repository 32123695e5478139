import type { Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";

const deleteOldest = statement<{ id: string }>(`
  delete from audit_events where id in (
    select id from audit_events where time < now() - make_interval(secs => $1) order by time limit 1000
    for update skip locked
  )
  returning id`);

/** Deletes audit events that have outlived `STEWARD_AUDIT_RETENTION`, in small steps. */
export async function deleteOldAuditEvents({ database, config }: Services): Promise<void> {
  if (config.auditRetention > 0) await database.exhaust(deleteOldest, config.auditRetention / 1000);
}
