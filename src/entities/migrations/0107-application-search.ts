import { Migration } from "@mikro-orm/migrations";

/** Finds applications by any part of their name with trigrams. */
export class ApplicationSearch extends Migration {
  override up(): void {
    this.addSql(`
      create index oauth2_clients_search_index on oauth2_clients using gin ((lower(name) collate "C") gin_trgm_ops);
    `);
  }
}
