import { Migration } from "@mikro-orm/migrations";

/**
 * Whether people or activity have moved a deadline is seen from the one that the template gave. Builds from before have none:
 * theirs is computed from the end of their start.
 */
export class PlannedDeadlines extends Migration {
  override up(): void {
    this.addSql("alter table workspace_builds add column planned_deadline timestamptz(3) null");
  }
}
