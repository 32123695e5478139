import { Migration } from "@mikro-orm/migrations";

/** Keeps the start that follows a stop, and finds applications by any part of their name with trigrams. */
export class Restarts extends Migration {
  override up(): void {
    this.addSql(`
      alter table workspace_builds add column next_start jsonb;
      create index oauth2_clients_search_index on oauth2_clients using gin ((lower(name) collate "C") gin_trgm_ops);
    `);
  }
}
