import { Migration } from "@mikro-orm/migrations";

/**
 * Functions that read what a transaction sees after it waited for a lock. As volatile functions they have a snapshot of
 * their own, so that the statement that takes the lock can call them.
 */
export class LockedState extends Migration {
  override up(): void {
    this.addSql(`
      create function memberships_now(uuid) returns json language sql volatile as $$
        select to_json(array(
          select json_build_object('organizationId', organization_id, 'roles', roles)
          from organization_members where user_id = $1 order by created_at, organization_id))
      $$;

      create function scim_user_now(uuid) returns json language sql volatile as $$
        select json_build_object('version', scim_version, 'account', scim_attributes(email, name, username, avatar_url),
          'links', array(
            select json_build_object('source', source, 'externalId', external_id, 'userName', user_name,
              'attributes', attributes, 'isGone', deprovisioned_at is not null)
            from scim_user_links where user_id = $1))
        from users where id = $1
      $$;

      create function scim_group_now(uuid) returns json language sql volatile as $$
        select json_build_object('version', scim_version, 'links', array(
          select json_build_object('source', source, 'externalId', external_id, 'displayName', display_name)
          from scim_group_links where group_id = $1))
        from groups where id = $1
      $$;

      -- The first of the names that no other user has. Nobody else gets one for the same base until the commit.
      create function free_username(base text, names text[], own uuid) returns text language plpgsql volatile as $$
      declare
        candidate text;
      begin
        perform pg_advisory_xact_lock(hashtextextended('steward.scim_username.' || base, 0));
        foreach candidate in array names loop
          perform from users
          where deleted_at is null and lower(username collate "C") = lower(candidate collate "C") and id is distinct from own;
          if not found then
            return candidate;
          end if;
        end loop;
        return null;
      end $$;
    `);
    this.addSql(copies);
    // The trigrams of some dozens of writes enter an index together: most of them are the same. Reads scan at most 64 KiB.
    for (const index of [
      "users_search_index",
      "scim_user_links_user_name_search_index",
      "scim_user_links_attributes_index",
    ])
      this.addSql(`alter index ${index} reset (fastupdate); alter index ${index} set (gin_pending_list_limit = 64);`);
    // Pages and counts of all users read only this index.
    this.addSql(`create index users_page_index on users (id) where deleted_at is null and not is_system;`);
  }
}

/** Statements that write a link name its source: changes of the account do not reach this link. */
const copies = `
  create or replace function copy_account_to_scim() returns trigger language plpgsql as $$
  declare
    account jsonb := scim_attributes(new.email, new.name, new.username, new.avatar_url);
  begin
    update scim_user_links set attributes = case
        when new.avatar_url is distinct from old.avatar_url then attributes - 'photos'
        else attributes end
      || case when new.avatar_url is distinct from old.avatar_url and account ? 'photos'
        then jsonb_build_object('photos', account->'photos') else '{}' end
      || case when new.name is distinct from old.name
        then jsonb_build_object('name', account->'name', 'displayName', account->'displayName') else '{}' end
      || case when new.email is distinct from old.email then jsonb_build_object('emails', (
        select jsonb_agg(case when lower(e->>'value' collate "C") = lower(old.email collate "C")
          then e || jsonb_build_object('value', new.email) else e end order by n)
        from jsonb_array_elements(coalesce(attributes->'emails', account->'emails')) with ordinality as entries (e, n)))
        else '{}' end
    where user_id = new.id and source is distinct from current_setting('steward.scim_source', true);
    return null;
  end $$;

  create or replace function copy_group_to_scim() returns trigger language plpgsql as $$
  begin
    update scim_group_links set display_name = null
    where group_id = new.id and display_name is not null
      and source is distinct from current_setting('steward.scim_source', true);
    return null;
  end $$;`;
