import { Migration } from "@mikro-orm/migrations";

/**
 * Numbers for audit events, which streams resume by. A trigger notes each new event in a queue, whichever release inserts it;
 * one server at a time gives numbers to those that are committed. Events of before have none.
 */
export class AuditNumbers extends Migration {
  override up(): void {
    this.addSql("lock table audit_log in share row exclusive mode");
    this.addSql(`
      create table audit_number_queue (event_id uuid not null primary key);
      create table audit_numbers (
        number bigint not null primary key,
        event_id uuid not null,
        numbered_at timestamptz(3) not null
      );
      create index audit_numbers_time_index on audit_numbers (numbered_at);
      create table audit_number_counter (
        id smallint not null primary key,
        last_number bigint not null,
        numbered_at timestamptz(3) not null
      );
      insert into audit_number_counter (id, last_number, numbered_at) values (1, 0, now());
      create table audit_readers (
        id uuid not null primary key,
        user_id uuid not null,
        username varchar(32) not null,
        api_key_id varchar(16) null,
        filter jsonb not null,
        ip varchar(45) null,
        user_agent varchar(512) null,
        position bigint not null,
        started_at timestamptz(3) not null,
        seen_at timestamptz(3) not null,
        ended_at timestamptz(3) null
      );
      create index audit_readers_time_index on audit_readers (started_at, id);
      create index audit_readers_user_index on audit_readers (user_id, started_at, id);
      create function queue_audit_numbers() returns trigger language plpgsql as $$
      begin
        insert into audit_number_queue (event_id) select id from added;
        return null;
      end $$;
      create trigger queue_audit_numbers after insert on audit_log referencing new table as added
        for each statement execute function queue_audit_numbers();
    `);
  }
}
