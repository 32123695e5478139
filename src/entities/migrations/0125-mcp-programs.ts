import { Migration } from "@mikro-orm/migrations";

/** An index that finds the newest grants for a resource. */
export class McpPrograms extends Migration {
  override up(): void {
    this.addSql(
      "create index oauth2_grants_audience_index on oauth2_grants ((audiences[1]), id) where revoked_at is null",
    );
  }
}
