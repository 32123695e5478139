import { BackfillMigration } from "./backfill.js";

/** Workspaces of suspended users are stopped after a time, unless too many were suspended at once, and change their owner. */
export class SuspendedOwners extends BackfillMigration {
  override up(): void {
    this.addSql(`
      alter table users
        add column suspended_at timestamptz(3) null,
        add column stop_hold text null constraint users_stop_hold_check check (stop_hold in ('held', 'released'));
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
      create table workspace_transfers (
        id uuid not null primary key,
        workspace_id uuid not null constraint workspace_transfers_workspace_id_foreign references workspaces (id) on delete cascade,
        former_owner_id uuid not null constraint workspace_transfers_former_owner_id_foreign references users (id) on delete cascade,
        receiver_id uuid not null constraint workspace_transfers_receiver_id_foreign references users (id) on delete cascade,
        offered_by_id uuid not null constraint workspace_transfers_offered_by_id_foreign references users (id) on delete cascade,
        created_at timestamptz(3) not null,
        expires_at timestamptz(3) not null
      );
      create unique index workspace_transfers_workspace_unique on workspace_transfers (workspace_id);
      create index workspace_transfers_receiver_index on workspace_transfers (receiver_id);
      create index workspace_transfers_expiry_index on workspace_transfers (expires_at);
    `);
    // Suspended at the latest when the account was last changed.
    this.addBackfill(`
      update users set suspended_at = updated_at
      where id in (select id from users where status = 'suspended' and suspended_at is null limit 1000)`);
  }
}
