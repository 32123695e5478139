import { Migration } from "@mikro-orm/migrations";

/** Finds users by the day on which they were last seen. Writes the table of users anew. */
export class LastSeenDays extends Migration {
  override up(): void {
    this.addSql(`
      alter table users add column last_seen_on date
        generated always as (((last_seen_at at time zone 'UTC')::date)) stored;
      create index users_last_seen_index on users (last_seen_on) where deleted_at is null and not is_system;
    `);
  }
}
