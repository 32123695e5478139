import { Migration } from "@mikro-orm/migrations";

/** Workspaces start by a schedule and take the active version by themselves, as far as their templates allow it. */
export class Schedules extends Migration {
  override up(): void {
    this.addSql(`alter table templates
      add column allow_user_autostart boolean not null default true,
      add column autostart_days int[] not null default '{0,1,2,3,4,5,6}',
      add column automatic_updates text not null default 'owners_choice',
      add constraint templates_automatic_updates_check check (automatic_updates in ('never', 'owners_choice', 'always'))`);
    this.addSql(`alter table workspaces
      add column autostart_schedule varchar(128) null,
      add column autostart_at timestamptz(3) null,
      add column automatic_updates boolean not null default false`);
    this.addSql(`create index workspaces_autostart_index on workspaces (autostart_at)
      where autostart_at is not null and deleted_at is null`);
  }
}
