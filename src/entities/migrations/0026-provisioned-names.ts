import { Migration } from "@mikro-orm/migrations";

/**
 * What a change of a group by an identity provider reads about names while it locks the group or its organization. The
 * function is volatile, so that it sees what was committed while the statement waited for the lock.
 */
export class ProvisionedNames extends Migration {
  override up(): void {
    this.addSql(`
      create index groups_folded_name_index on groups (organization_id, (lower(name collate "C")));

      -- Whether another group of the organization has a displayName, and the first of the names that no other one has.
      create function scim_group_names(organization uuid, wanted text, names text[], own uuid) returns json
      language plpgsql volatile as $$
      declare
        folded text := lower(wanted collate "C");
        candidate text;
      begin
        perform from groups g
        where g.organization_id = organization and g.id is distinct from own
          and g.id = any(array(
            select group_id from scim_group_links where lower(display_name collate "C") = folded
            union all
            select id from groups where lower(coalesce(nullif(display_name, ''), name) collate "C") = folded))
          and lower(coalesce((select l.display_name from scim_group_links l where l.group_id = g.id and l.display_name is not null),
            nullif(g.display_name, ''), g.name) collate "C") = folded;
        if found then
          return json_build_object('isTaken', true);
        end if;
        foreach candidate in array names loop
          perform from groups
          where organization_id = organization and lower(name collate "C") = lower(candidate collate "C")
            and id is distinct from own limit 1;
          if not found then
            return json_build_object('isTaken', false, 'name', candidate);
          end if;
        end loop;
        return json_build_object('isTaken', false, 'name', null);
      end $$;
    `);
  }
}
