import { BackfillMigration } from "./backfill.js";

/** Workspaces of suspended users are stopped after a time, unless too many were suspended at once. */
export class SuspendedOwners extends BackfillMigration {
  override up(): void {
    this.addSql(`
      alter table users
        add column suspended_at timestamptz(3) null,
        add column stop_hold varchar(8) null check (stop_hold in ('held', 'released'));
      create function note_suspension() returns trigger language plpgsql as $$
      begin
        new.suspended_at := case when new.status = 'suspended' then now() end;
        new.stop_hold := null;
        return new;
      end $$;
      create trigger note_suspension before update of status on users for each row
        when (old.status <> new.status) execute function note_suspension();
      create index users_suspended_index on users (suspended_at) where suspended_at is not null;
      alter table workspace_builds drop constraint workspace_builds_reason_check;
      alter table workspace_builds add constraint workspace_builds_reason_check check (reason in ('initiator', 'autostart', 'autostop', 'dormancy', 'autodelete', 'owner_suspended', 'task_manual_pause', 'task_auto_pause', 'task_resume', 'dashboard', 'cli', 'ssh_connection', 'vscode_connection', 'jetbrains_connection')) not valid;
    `);
    // Suspended at the latest when the account was last changed.
    this.addBackfill(`
      update users set suspended_at = updated_at
      where id in (select id from users where status = 'suspended' and suspended_at is null limit 1000)`);
  }
}
