import { Migration } from "@mikro-orm/migrations";

/** When the owner of a workspace was last told that its agent is gone. */
export class LostWorkspaces extends Migration {
  override up(): void {
    this.addSql("alter table workspaces add column loss_noticed_at timestamptz(3)");
  }
}
