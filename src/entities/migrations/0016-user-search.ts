import { Migration } from "@mikro-orm/migrations";

/**
 * Lists users and members by indexes in the order of usernames, also per value of a filter, and of times, and finds users
 * by any part of a name or an email with trigrams. pg_trgm is a trusted extension: the owner of the database may create
 * it. Memberships carry the folded username and the creation time of the user, kept by triggers.
 */
export class UserSearch extends Migration {
  override up(): void {
    this.addSql(`
      create extension if not exists pg_trgm;
      create index users_list_index on users (lower(username collate "C"), id) include (username)
        where deleted_at is null and not is_system;
      create index users_search_index on users using gin (
        lower(username collate "C") gin_trgm_ops, lower(email collate "C") gin_trgm_ops,
        (lower(name) collate "C") gin_trgm_ops
      ) with (fastupdate = off) where deleted_at is null and not is_system;
      create index users_status_index on users (status, lower(username collate "C"), id) include (username)
        where deleted_at is null and not is_system;
      create index users_login_type_index on users (login_type, lower(username collate "C"), id) include (username)
        where deleted_at is null and not is_system;
      create index users_service_account_index on users (is_service_account, lower(username collate "C"), id) include (username)
        where deleted_at is null and not is_system;
      create index users_created_index on users (created_at, id) where deleted_at is null and not is_system;
      create index users_site_roles_index on users (id) where site_roles <> '{}';
      create index organization_members_roles_index on organization_members (organization_id, user_id)
        where roles <> '{}';
    `);
    this.addSql(`
      alter table organization_members add column username varchar(32) not null default '';
      alter table organization_members add column user_created_at timestamptz(3) not null default now();
      update organization_members m set username = lower(u.username collate "C"), user_created_at = u.created_at
        from users u where u.id = m.user_id;
      create index organization_members_list_index
        on organization_members (organization_id, username collate "C", user_id);
      create index organization_members_user_created_index
        on organization_members (organization_id, user_created_at, user_id);
      create index organization_members_joined_index on organization_members (organization_id, created_at, user_id);
      create function copy_user_to_member() returns trigger language plpgsql as $$
      begin
        select lower(username collate "C"), created_at into new.username, new.user_created_at
          from users where id = new.user_id;
        return new;
      end $$;
      create trigger copy_user_to_member before insert on organization_members
        for each row execute function copy_user_to_member();
      create function rename_members() returns trigger language plpgsql as $$
      begin
        update organization_members set username = lower(new.username collate "C") where user_id = new.id;
        return null;
      end $$;
      create trigger rename_members after update of username on users for each row
        when (old.username <> new.username) execute function rename_members();
    `);
  }
}
