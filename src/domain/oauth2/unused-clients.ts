import { type Database, statement } from "../kernel/database.js";
import { hour } from "../kernel/purge.js";

// An application without any use may still wait for its first consent; one that was used may be in use again. Documents
// can be fetched again, but whether an administrator disabled their application could not be known again.
const deleteUnused = statement<{ isDeleted: true }>(`
  delete from oauth2_clients where id = any(array(
    select c.id from oauth2_clients c
    where c.kind <> 'admin' and not (c.kind = 'document' and c.is_disabled)
      and (c.last_used_at <= now() - interval '180 days'
        or (c.last_used_at is null and c.created_at <= now() - interval '7 days'))
      and not exists (
        select from oauth2_grants g where g.client_id = c.id
          and coalesce(g.revoked_at, g.expires_at) > now() - interval '180 days'
      )
    limit 1000 for update of c skip locked
  ))
  returning true as "isDeleted"`);

/**
 * Deletes applications that registered themselves, or have a metadata document, a week after that if they were never
 * used, and else 180 days after their last grant.
 */
export const unusedClientPurge = {
  name: "purge unused oauth2_clients",
  every: hour,
  async run({ database }: { database: Database }): Promise<void> {
    while ((await database.query(deleteUnused, [])).length > 0);
  },
};
