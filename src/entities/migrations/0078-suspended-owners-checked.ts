import { Migration } from "@mikro-orm/migrations";

/** Reads existing builds for the constraint on their reasons, without keeping others from writing. */
export class SuspendedOwnersChecked extends Migration {
  override up(): void {
    this.addSql("alter table workspace_builds validate constraint workspace_builds_reason_check");
  }
}
