import { BackfillMigration } from "./backfill.js";

/** An id of a time, as 0094 has it. */
const idOf = (time: string) =>
  `overlay(gen_random_uuid()::text placing left(first_id_of(${time})::text, 13) || '-7' from 1 for 15)::uuid`;

/**
 * Gives connections that are reported late an id of their time, so that a page of the log finds them in the months of that
 * time: a trigger does so, also with those of servers of the previous release. Prepares a search for emails with one
 * index instead of two: a page locks all indexes of its months.
 */
export class ConnectionMonths extends BackfillMigration {
  override up(): void {
    this.addSql(`
      create function place_connection() returns trigger language plpgsql as $$
      begin
        update connection_log set id = ${idOf("new.connect_time")} where id = new.id;
        return null;
      end $$;
      create trigger place_connection after insert or update of connect_time on connection_log for each row
        when (new.id >= first_id_of(new.connect_time + interval '1 day')) execute function place_connection();
      create index connection_log_emails_index on connection_log
        using gin ((array[lower(workspace_owner_email collate "C"), lower(user_email collate "C")])) with (fastupdate = off);
    `);
    this.addBackfill(`
      update connection_log set id = ${idOf("connect_time")}
      where id = any(array(
        select id from connection_log where id >= first_id_of(connect_time + interval '1 day') limit 1000))`);
  }
}
