import { Migration } from "@mikro-orm/migrations";

/**
 * Raises the version of the groups of a user whose name changes, since SCIM clients see the names of members. Groups are
 * locked after the user and in the order of their ids, as by all that change memberships.
 */
export class ScimMemberNames extends Migration {
  override up(): void {
    this.addSql(`
      create function raise_scim_versions_of_groups() returns trigger language plpgsql as $$
      begin
        perform from groups where id in (select group_id from group_members where user_id = new.id)
        order by id for no key update;
        update groups set scim_version = scim_version + 1
        where id in (select group_id from group_members where user_id = new.id);
        return null;
      end $$;
      create trigger raise_scim_versions_of_groups after update of name, username on users for each row
        when (coalesce(nullif(old.name, ''), old.username) is distinct from coalesce(nullif(new.name, ''), new.username))
        execute function raise_scim_versions_of_groups();
    `);
  }
}
