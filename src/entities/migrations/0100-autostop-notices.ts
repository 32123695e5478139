import { Migration } from "@mikro-orm/migrations";

/** When the owner of a workspace was last told that it stops soon. */
export class AutostopNotices extends Migration {
  override up(): void {
    this.addSql("alter table workspaces add column stop_noticed_at timestamptz(3)");
  }
}
