import { Migration } from "@mikro-orm/migrations";

/** How far the audit log has been written to files and collectors. */
export class AuditSinks extends Migration {
  override up(): void {
    this.addSql(`
      create table audit_sinks (
        name varchar(300) not null primary key,
        position bigint not null,
        lease_token uuid null,
        leased_until timestamptz(3) not null,
        delivered_at timestamptz(3) null,
        failing_since timestamptz(3) null,
        last_failure varchar(512) not null
      );
    `);
  }
}
