import { Migration } from "@mikro-orm/migrations";

/** Checks the secrets of the access tokens that exist, while others are issued. */
export class ServiceTokensChecked extends Migration {
  override up(): void {
    this.addSql("alter table api_keys validate constraint api_keys_client_secret_id_foreign");
  }
}
