import { Migration } from "@mikro-orm/migrations";

/**
 * Keeps the number of members with each group, by statement: cascades and bulk writes count as well. The group Everyone
 * has the id of its organization. Groups are locked in the order of their ids, as all that change memberships do.
 */
export class MemberCounts extends Migration {
  override up(): void {
    this.addSql(`
      alter table groups add column member_count int not null default 0;
      update groups g set member_count = m.count from (
        select group_id, count(*) from group_members group by group_id
        union all select organization_id, count(*) from organization_members group by organization_id
      ) m where g.id = m.group_id;
    `);
    this.addSql(`${keepCount("group_members", "group_id")} ${keepCount("organization_members", "organization_id")}`);
  }
}

const keepCount = (table: string, group: string) => `
  create function count_${table}() returns trigger language plpgsql as $$
  begin
    perform from groups where id in (select ${group} from changed) order by id for no key update;
    update groups set member_count = member_count + case tg_op when 'INSERT' then count else -count end
    from (select ${group}, count(*) from changed group by ${group}) c where id = c.${group};
    return null;
  end $$;
  create trigger count_inserted_${table} after insert on ${table}
    referencing new table as changed for each statement execute function count_${table}();
  create trigger count_deleted_${table} after delete on ${table}
    referencing old table as changed for each statement execute function count_${table}();`;
