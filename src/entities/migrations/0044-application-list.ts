import { Migration } from "@mikro-orm/migrations";

/** Lists applications of all kinds by name from an index. */
export class ApplicationList extends Migration {
  override up(): void {
    this.addSql(`create index oauth2_clients_list_index on oauth2_clients (lower(name collate "C"), id)`);
  }
}
