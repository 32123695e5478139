import { Migration } from "@mikro-orm/migrations";

/** Finds deliveries of a rare type among many, and invitations by any part of an address or a name, with trigrams. */
export class NarrowedLists extends Migration {
  override up(): void {
    this.addSql(`
      create index event_deliveries_type_index on event_deliveries (endpoint_id, type, created_at, id);
      create index invitations_search_index on invitations using gin (
        (lower(email) collate "C") gin_trgm_ops, (lower(name) collate "C") gin_trgm_ops
      );
    `);
  }
}
