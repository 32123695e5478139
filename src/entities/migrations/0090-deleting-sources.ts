import { BackfillMigration } from "./backfill.js";

/**
 * Keeps whether a source has suspended a user by deleting it, or has deleted one who was suspended already: who suspended a
 * user otherwise stays suspended when the source creates the user again.
 *
 * Of users who were deleted before, those count as suspended already whose last suspension was by a person at another time,
 * as far as the audit log goes back; the others return as before.
 */
export class DeletingSources extends BackfillMigration {
  override up(): void {
    this.addSql("lock table scim_user_links in share row exclusive mode");
    this.addSql(`
      create function note_deletion() returns trigger language plpgsql as $$
      begin
        -- The user was suspended in this transaction.
        if exists(
          select from users
          where id = new.user_id and status = 'suspended' and suspended_at = now()::timestamptz(3)) then
          new.suspended_at := now();
        end if;
        return new;
      end $$;
      create trigger note_deletion before insert or update of deprovisioned_at on scim_user_links for each row
        when (new.deprovisioned_at is not null and new.suspended_at is null)
        execute function note_deletion();
    `);
    this.addBackfill(`
      update scim_user_links l set suspended_at = l.deprovisioned_at
      from (
        select l.source, l.user_id
        from scim_user_links l join users u on u.id = l.user_id
        where l.deprovisioned_at is not null and l.suspended_at is null
          and u.status = 'suspended' and u.deleted_at is null
          and (u.suspended_at = l.deprovisioned_at or not coalesce((
            select a.actor_kind <> 'scim_key'
              and a.time not between l.deprovisioned_at - interval '1 second' and l.deprovisioned_at + interval '1 second'
            from audit_log a
            where a.resource_id = u.id::text and a.resource_type = 'user' and a.diff ? 'status'
            order by a.time desc, a.id desc limit 1), false))
        limit 1000) done
      where l.source = done.source and l.user_id = done.user_id and l.suspended_at is null
        and l.deprovisioned_at is not null`);
  }
}
