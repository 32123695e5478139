import { BackfillMigration } from "./backfill.js";

/**
 * Tells people whom their identity provider deleted from others, so that their names are free, and keeps which source
 * suspended a user.
 *
 * Of users who were deleted before, those count whose memberships are all in organizations of keys of the source: a key
 * deletes no account that also belongs elsewhere. Who suspended a user before is read from the audit log, as far as it goes
 * back and the key exists; the others count as suspended by an administrator.
 */
export class Leavers extends BackfillMigration {
  override up(): void {
    this.addSql("lock table users, scim_user_links in access exclusive mode");
    this.addSql(`alter table users
      add column deprovisioned_at timestamptz(3) null,
      add column former_email varchar(254) null`);
    this.addSql("alter table scim_user_links add column suspended_at timestamptz(3) null");
    this.addSql(`create index users_deprovisioned_index on users (id)
      where deprovisioned_at is not null and deleted_at is null`);
    this.addSql(triggers);
    this.addBackfill(`
      update users u set deprovisioned_at = gone.at
      from (
        select l.user_id, max(l.deprovisioned_at) as at
        from scim_user_links l join users u on u.id = l.user_id
        where l.deprovisioned_at is not null
          and u.status = 'suspended' and u.deleted_at is null and u.deprovisioned_at is null
          and not exists(select from scim_user_links other where other.user_id = u.id and other.deprovisioned_at is null)
          and not exists(
            select from organization_members m where m.user_id = u.id and not exists(
              select from scim_keys k where k.source = l.source and m.organization_id = any(k.organization_ids)))
        group by l.user_id limit 1000) gone
      where u.id = gone.user_id and u.status = 'suspended' and u.deleted_at is null and u.deprovisioned_at is null`);
    this.addBackfill(`
      update scim_user_links l set suspended_at = done.time
      from (
        select l.source, l.user_id, latest.time
        from scim_user_links l join users u on u.id = l.user_id
        cross join lateral (
          select a.time, a.actor_kind, a.api_key_id from audit_log a
          where a.resource_id = u.id::text and a.resource_type = 'user' and a.diff ? 'status'
          order by a.time desc, a.id desc limit 1) latest
        join scim_keys k on k.id = latest.api_key_id and k.source = l.source
        where u.status = 'suspended' and u.deleted_at is null and latest.actor_kind = 'scim_key'
          and l.suspended_at is null and l.deprovisioned_at is null
        limit 1000) done
      where l.source = done.source and l.user_id = done.user_id and l.suspended_at is null
        and l.deprovisioned_at is null`);
  }
}

const triggers = `
  create function end_leaving() returns trigger language plpgsql as $$
  begin
    new.deprovisioned_at := null;
    update scim_user_links set suspended_at = null where user_id = new.id and suspended_at is not null;
    return new;
  end $$;
  create trigger end_leaving before update of status on users for each row
    when (old.status is distinct from new.status)
    execute function end_leaving();

  create function end_leaving_by_link() returns trigger language plpgsql as $$
  begin
    update users set deprovisioned_at = null where id = new.user_id and deprovisioned_at is not null;
    return null;
  end $$;
  create trigger end_leaving_by_link after insert or update of deprovisioned_at on scim_user_links for each row
    when (new.deprovisioned_at is null)
    execute function end_leaving_by_link();`;
