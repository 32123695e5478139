import { type Expression, sql } from "kysely";
import type { Database } from "../../infrastructure/database/database.js";
import { second } from "../../runtime/durations.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const memberChanges = columnsOf("memberChanges");
const groups = columnsOf("groups");

const c = columnsOf("memberChanges", "c");
const g = columnsOf("groups", "g");

/** The changes of the number of members of an organization that its group Everyone does not count yet. */
export const sumUncounted = (organizationId: Expression<string>) => sql<number>`(
  select coalesce(sum(change), 0)::int from member_changes where ${memberChanges.organizationId} = ${organizationId})`;

/**
 * Adds the changes to the counts of the groups Everyone. Replicas may do so concurrently: each skips the groups that another
 * transaction has locked. Changes of deleted organizations, which have no groups, are dropped.
 */
export const memberCountJob = {
  name: "sum up the numbers of members",
  every: 10 * second,
  run: async ({ database: { db } }: { database: Pick<Database, "db"> }): Promise<void> => {
    await sql`
      with turn as materialized (
        select id from groups where id in (select ${memberChanges.organizationId} from member_changes)
        order by id for no key update skip locked
      ), due as materialized (
        select id from member_changes c where ${memberChanges.organizationId} in (select id from turn)
          or not exists (select from groups g where g.id = ${c.organizationId})
        for update skip locked
      ), summed as (
        delete from member_changes where id = any(array(select id from due)) returning ${memberChanges.organizationId}, change
      )
      update groups g set ${groups.memberCount} = ${g.memberCount} + s.change from (
        select ${memberChanges.organizationId}, sum(change) as change from summed group by ${memberChanges.organizationId}
      ) s where g.id = s.organization_id and s.change <> 0`.execute(db);
  },
};
