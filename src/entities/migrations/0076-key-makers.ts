import { BackfillMigration } from "./backfill.js";

/**
 * Keys and grants name the key that made them, as far as the audit log knows for earlier keys. A key that ends is kept
 * by name as long as something that it made is left.
 */
export class KeyMakers extends BackfillMigration {
  override up(): void {
    this.addSql(`
      alter table api_keys add column made_by varchar(10) null;
      alter table oauth2_grants add column made_by varchar(10) null;
      create table ended_keys (
        id varchar(10) not null primary key,
        kind varchar(16) not null,
        name varchar(64) not null,
        made_by varchar(10) null,
        ended_at timestamptz(3) not null
      );
      create index api_keys_made_by_index on api_keys (made_by) where made_by is not null;
      create index oauth2_grants_made_by_index on oauth2_grants (made_by) where made_by is not null;
      create index ended_keys_made_by_index on ended_keys (made_by) where made_by is not null;
      create index ended_keys_time_index on ended_keys (ended_at);
      create function keep_ended_makers() returns trigger language plpgsql as $$
      begin
        insert into ended_keys (id, kind, name, made_by, ended_at)
        select ended.id, ended.kind, ended.name, ended.made_by, now() from ended
        where ended.kind in ('session', 'token') and (
          exists (select from api_keys k where k.made_by = ended.id)
          or exists (select from oauth2_grants g where g.made_by = ended.id)
          or exists (select from ended_keys e where e.made_by = ended.id))
        on conflict do nothing;
        return null;
      end $$;
      create trigger keep_ended_makers after delete on api_keys referencing old table as ended
        for each statement execute function keep_ended_makers();
    `);
    // Of keys that servers of the previous release make meanwhile, the maker stays unknown.
    this.addBackfill(`
      update api_keys k set made_by = found.maker from (
        select t.id, a.maker from api_keys t cross join lateral (
          select e.api_key_id as maker from audit_log e
          where e.resource_id = t.id and e.resource_type = 'api_key' and e.action = 'create'
            and e.actor_kind = 'user' and e.api_key_id is not null
          limit 1) a
        where t.kind in ('token', 'application') and t.made_by is null
        limit 1000) found
      where k.id = found.id`);
  }
}
