import { Migration } from "@mikro-orm/migrations";

/** Notifications as events for endpoints: a table of their own, with numbers of their own, which leave those of the audit log as they are. */
export class NotifiedEvents extends Migration {
  override up(): void {
    this.addSql("lock table event_endpoints, audit_number_counter in access exclusive mode");
    this.addSql(`
      create table notified_events (
        id uuid not null primary key,
        created_at timestamptz(3) not null,
        organization_id uuid not null,
        type varchar(64) not null,
        object_id uuid not null,
        object_name varchar(254) not null,
        actor_kind varchar(16) not null,
        actor_id uuid null,
        actor_name varchar(32) null,
        details jsonb not null,
        request_id varchar(128) not null,
        number bigint null,
        sequence bigint null,
        numbered_at timestamptz(3) null
      );
      create index notified_events_waiting_index on notified_events (id) where number is null;
      create unique index notified_events_number_unique on notified_events (number) where number is not null;
      create index notified_events_time_index on notified_events (numbered_at);
      alter table audit_number_counter add column last_notified bigint not null default '0';
      alter table event_endpoints add column notified_position bigint not null default '0';
    `);
  }
}
