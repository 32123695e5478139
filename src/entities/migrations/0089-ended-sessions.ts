import { Migration } from "@mikro-orm/migrations";

/** Sessions end with their agent, until a report of it says when they did. */
export class EndedSessions extends Migration {
  override up(): void {
    this.addSql("alter table connection_log add column is_end_derived boolean not null default false");
  }
}
