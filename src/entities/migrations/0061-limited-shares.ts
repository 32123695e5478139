import { Migration } from "@mikro-orm/migrations";

/** Workspaces are shared until a time. */
export class LimitedShares extends Migration {
  override up(): void {
    this.addSql("alter table workspace_acl_entries add column expires_at timestamptz(3) null");
    this.addSql(`create index workspace_acl_entries_expiry_index on workspace_acl_entries (expires_at)
      where expires_at is not null`);
  }
}
