import { Migration } from "@mikro-orm/migrations";

/**
 * Access tokens of client credentials name their application and its secret instead of a grant. Those of servers of the
 * previous release keep their grants until they expire. The next migration checks the rows that exist.
 */
export class ServiceTokens extends Migration {
  override up(): void {
    this.addSql(`
      alter table api_keys add column client_id uuid null, add column client_secret_id uuid null;
      alter table api_keys add constraint api_keys_client_secret_id_foreign
        foreign key (client_secret_id) references oauth2_client_secrets (id) on delete cascade not valid;
      create index api_keys_client_secret_index on api_keys (client_secret_id) where client_secret_id is not null;
    `);
  }
}
