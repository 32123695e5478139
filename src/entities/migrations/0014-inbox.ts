import { Migration } from "@mikro-orm/migrations";

/** Marking everything as read ends an epoch of the inbox, whatever the number of notifications; targets have an index. */
export class Inbox extends Migration {
  override up(): void {
    this.addSql(`
      alter table inbox_cursors add column epoch int not null default 0;
      alter table inbox_notifications add column epoch int not null default 0;

      create table inbox_epochs (
        user_id uuid not null,
        epoch int not null,
        ended_at timestamptz(3) not null,
        primary key (user_id, epoch)
      );
      alter table inbox_epochs add constraint inbox_epochs_user_id_foreign foreign key (user_id) references users (id) on delete cascade;

      -- Most rows are of an early epoch, which would make Postgres expect that every row is of the epoch in a condition.
      alter table inbox_notifications alter column epoch set (n_distinct = -0.1);
      drop index inbox_notifications_unread_index;
      create index inbox_notifications_unread_index on inbox_notifications (user_id, epoch, created_at desc, id desc) where read_at is null;
      create index inbox_notifications_targets_index on inbox_notifications using gin ((targets || user_id)) with (fastupdate = off);
    `);
  }
}
