import { Migration } from "@mikro-orm/migrations";

/**
 * Counts the members of organizations as the sum of the changes: creations of users in an organization do not wait for each
 * other, as they would for the one row of its group Everyone. That row keeps the count of before; a job of the server adds the
 * changes to it, so that servers of the previous release, which read it alone, are behind by seconds. Groups that people make
 * count as before: their changes lock them anyway. Replaces the function alone, which locks no table.
 */
export class MemberChanges extends Migration {
  override up(): void {
    this.addSql(`
      create table member_changes (
        id uuid not null primary key default gen_random_uuid(),
        organization_id uuid not null,
        change int not null
      );
      create index member_changes_organization_index on member_changes (organization_id);
      create or replace function count_organization_members() returns trigger language plpgsql as $$
      begin
        insert into member_changes (organization_id, change)
        select organization_id, case tg_op when 'INSERT' then count(*) else -count(*) end
        from changed group by organization_id;
        return null;
      end $$;
    `);
  }
}
