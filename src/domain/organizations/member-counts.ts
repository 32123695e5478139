import { type Expression, sql } from "kysely";
import type { Database } from "../../infrastructure/database/database.js";
import { second } from "../kernel/queries.js";

/** The changes of the number of members of an organization that its group Everyone does not count yet. */
export const uncounted = (organizationId: Expression<string>) => sql<number>`(
  select coalesce(sum(change), 0)::int from member_changes where organization_id = ${organizationId})`;

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
        select id from groups where id in (select organization_id from member_changes)
        order by id for no key update skip locked
      ), due as materialized (
        select id from member_changes c where organization_id in (select id from turn)
          or not exists (select from groups g where g.id = c.organization_id)
        for update skip locked
      ), summed as (
        delete from member_changes where id = any(array(select id from due)) returning organization_id, change
      )
      update groups g set member_count = g.member_count + s.change from (
        select organization_id, sum(change) as change from summed group by organization_id
      ) s where g.id = s.organization_id and s.change <> 0`.execute(db);
  },
};
