import { Migration } from "@mikro-orm/migrations";

/** Quiet hours that users choose; audit events are found by action. */
export class QuietHours extends Migration {
  override up(): void {
    this.addSql(`
      create table user_quiet_hours (
        user_id uuid not null,
        schedule varchar(64) not null,
        primary key (user_id)
      );
      alter table user_quiet_hours add constraint user_quiet_hours_user_id_foreign foreign key (user_id) references users (id) on update cascade on delete cascade;

      create index audit_events_action_index on audit_events (action, time);
    `);
  }
}
