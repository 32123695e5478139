import { Migration } from "@mikro-orm/migrations";

/** Seals of the days of the audit log, by which later changes of its events are found. */
export class AuditDays extends Migration {
  override up(): void {
    this.addSql(`
      create table audit_days (
        day varchar(10) not null primary key,
        first_number bigint not null,
        last_number bigint not null,
        event_count int not null,
        hash varchar(64) not null,
        sealed_at timestamptz(3) not null
      );
    `);
  }
}
