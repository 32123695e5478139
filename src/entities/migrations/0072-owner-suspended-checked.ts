import { Migration } from "@mikro-orm/migrations";

/** Checks the reasons of the builds that exist, while others are written. */
export class OwnerSuspendedChecked extends Migration {
  override up(): void {
    this.addSql("alter table workspace_builds validate constraint workspace_builds_reason_check");
  }
}
