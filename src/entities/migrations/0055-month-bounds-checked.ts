import { Migration } from "@mikro-orm/migrations";

/** Reads the tables of the previous migration once, which nobody waits for. */
export class MonthBoundsChecked extends Migration {
  override up(): void {
    for (const table of ["audit_events", "connection_logs", "inbox_notifications"])
      this.addSql(`alter table ${table} validate constraint ${table}_months`);
  }
}
