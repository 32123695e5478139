import { Migration } from "@mikro-orm/migrations";

/** All rows have names: the indexes of those without are empty. */
export class NamedRows extends Migration {
  override up(): void {
    this.addSql(`
      drop index audit_log_unnamed_index;
      drop index connection_log_unnamed_index;
      drop index notification_messages_unnamed_index;
      drop index provisioner_jobs_unnamed_index;
    `);
  }
}
