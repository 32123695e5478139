import { type Expression, sql } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { countJob } from "../kernel/summed-counts.js";

const memberChanges = columnsOf("memberChanges");

/** The changes of the number of members of an organization that its group Everyone does not count yet. */
export const sumUncounted = (organizationId: Expression<string>) => sql<number>`(
  select coalesce(sum(change), 0)::int from member_changes where ${memberChanges.organizationId} = ${organizationId})`;

/** Adds the changes to the counts of the groups Everyone, which have the IDs of their organizations. */
export const memberCountJob = countJob({
  name: "sum up the numbers of members",
  changes: "member_changes",
  of: "organization_id",
  table: "groups",
  counts: { member_count: "change" },
});
