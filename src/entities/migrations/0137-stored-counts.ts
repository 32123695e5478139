import { Migration } from "@mikro-orm/migrations";

/** Keeps what was counted in the past, so that charts of many days read no more rows than those of few events. */
export class StoredCounts extends Migration {
  override up(): void {
    this.addSql(`
      create table quarter_hour_counts (
        series varchar(32) not null,
        begins_at timestamptz(3) not null,
        organization_id uuid not null,
        count int not null,
        primary key (series, begins_at, organization_id)
      );
      alter table deployment add column counted_until timestamptz(3) null;
    `);
  }
}
