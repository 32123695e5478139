import { Migration } from "@mikro-orm/migrations";

/** The key of pages is encrypted; the next start makes one. What lay in plain text, in backups too, counts no more. */
export class PageKey extends Migration {
  override up(): void {
    this.addSql(`
      alter table deployment drop column page_key;
      alter table deployment add column page_key_ciphertext bytea;
      alter table deployment add column page_key_nonce bytea;
      alter table deployment add column key_id varchar(64);
      alter table deployment add constraint deployment_key_id_foreign foreign key (key_id) references encryption_keys (id) on delete set null;
    `);
  }
}
