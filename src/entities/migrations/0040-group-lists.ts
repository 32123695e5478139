import { BackfillMigration } from "./backfill.js";

/**
 * Lists groups by the name of their organization, and members by their username, from an index: both names are stored with
 * the rows that are listed, and kept by triggers.
 */
export class GroupLists extends BackfillMigration {
  override up(): void {
    this.addSql(`
      alter table groups add column organization_name varchar(32) not null default '';
      alter table group_members add column username varchar(32) not null default '';
      create function copy_organization_to_group() returns trigger language plpgsql as $$
      begin
        -- The organization of its first group is not visible yet: its own trigger follows.
        new.organization_name := coalesce((select name from organizations where id = new.organization_id), '');
        return new;
      end $$;
      create trigger copy_organization_to_group before insert on groups
        for each row execute function copy_organization_to_group();
      create function rename_groups() returns trigger language plpgsql as $$
      begin
        update groups set organization_name = new.name where organization_id = new.id;
        return null;
      end $$;
      create trigger name_groups after insert on organizations for each row execute function rename_groups();
      create trigger rename_groups after update of name on organizations for each row
        when (old.name <> new.name) execute function rename_groups();
      create function copy_user_to_group_member() returns trigger language plpgsql as $$
      begin
        select lower(username collate "C") into new.username from users where id = new.user_id;
        return new;
      end $$;
      create trigger copy_user_to_group_member before insert on group_members
        for each row execute function copy_user_to_group_member();
      create function rename_group_members() returns trigger language plpgsql as $$
      begin
        update group_members set username = lower(new.username collate "C") where user_id = new.id;
        return null;
      end $$;
      create trigger rename_group_members after update of username on users for each row
        when (old.username <> new.username) execute function rename_group_members();
      create index groups_list_index on groups (organization_name, name, id);
      create index groups_organization_list_index on groups (organization_id, organization_name, name, id);
      create index group_members_list_index on group_members (group_id, username collate "C", user_id);
    `);
    this.addBackfill(`
      update groups g set organization_name = o.name from organizations o
      where o.id = g.organization_id
        and g.id in (select id from groups where organization_name = '' limit 1000)`);
    this.addBackfill(`
      update group_members m set username = lower(u.username collate "C") from users u
      where u.id = m.user_id
        and (m.group_id, m.user_id) in (select group_id, user_id from group_members where username = '' limit 1000)`);
  }
}
