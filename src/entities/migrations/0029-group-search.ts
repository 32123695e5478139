import { Migration } from "@mikro-orm/migrations";

/** Finds groups by any part of a name or a display name, with trigrams. */
export class GroupSearch extends Migration {
  override up(): void {
    this.addSql(`
      create index groups_search_index on groups using gin (
        (lower(name) collate "C") gin_trgm_ops, (lower(display_name) collate "C") gin_trgm_ops
      ) with (fastupdate = off);
    `);
  }
}
