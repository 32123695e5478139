import { Migration } from "@mikro-orm/migrations";

/** Lists what a SCIM key has done, from an index. */
export class ScimKeyEvents extends Migration {
  override up(): void {
    this.addSql(
      `create index audit_events_scim_key_index on audit_events (api_key_id, time, id) where actor_kind = 'scim_key'`,
    );
  }
}
