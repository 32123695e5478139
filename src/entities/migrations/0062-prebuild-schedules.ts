import { Migration } from "@mikro-orm/migrations";

/** The number of prebuilt workspaces of a preset can depend on the time. */
export class PrebuildSchedules extends Migration {
  override up(): void {
    this.addSql(`alter table template_presets
      add column prebuild_schedules jsonb not null default '[]',
      add column scheduled_instances int null`);
  }
}
