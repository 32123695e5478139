import { Migration } from "@mikro-orm/migrations";

const reasons = [
  "initiator", "autostart", "autostop", "dormancy", "autodelete", "owner_suspended",
  "task_manual_pause", "task_auto_pause", "task_resume",
  "dashboard", "cli", "ssh_connection", "vscode_connection", "jetbrains_connection",
]; // oxfmt-ignore

/** Allows builds because their owner was suspended. The next migration checks the rows that exist. */
export class OwnerSuspended extends Migration {
  override up(): void {
    const list = reasons.map((reason) => `'${reason}'`).join(", ");
    this.addSql(`alter table workspace_builds
      drop constraint if exists workspace_builds_reason_check,
      add constraint workspace_builds_reason_check check (reason in (${list})) not valid`);
  }
}
