import { Migration } from "@mikro-orm/migrations";

/** When people were last told that their API tokens, SCIM keys, and shares of workspaces end soon. */
export class EndNotices extends Migration {
  override up(): void {
    this.addSql("alter table api_keys add column end_noticed_at timestamptz(3) null");
    this.addSql("alter table scim_keys add column end_noticed_at timestamptz(3) null");
    this.addSql("alter table workspace_acl_entries add column end_noticed_at timestamptz(3) null");
    this.addSql("create index api_keys_token_expiry_index on api_keys (expires_at) where kind = 'token'");
  }
}
