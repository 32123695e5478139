import { Migration } from "@mikro-orm/migrations";

/** Keys that end with the key that asked for them, and what hands them to the hosts of applications. */
export class Applications extends Migration {
  override up(): void {
    this.addSql(`
      alter table api_keys add column parent_id varchar(10);
      alter table api_keys add constraint api_keys_parent_id_foreign foreign key (parent_id) references api_keys (id) on delete cascade;
      create index api_keys_parent_index on api_keys (parent_id) where parent_id is not null;

      create table app_connect_keys (
        id uuid not null,
        secret_ciphertext bytea not null,
        secret_nonce bytea not null,
        key_id varchar(64) not null,
        usable_from timestamptz(3) not null,
        retired_at timestamptz(3),
        primary key (id)
      );
      create index app_connect_keys_key_index on app_connect_keys (key_id, id);
      alter table app_connect_keys add constraint app_connect_keys_key_id_foreign foreign key (key_id) references encryption_keys (id);

      create table spent_app_connects (
        id uuid not null,
        expires_at timestamptz(3) not null,
        primary key (id)
      );
      create index spent_app_connects_expiry_index on spent_app_connects (expires_at);
    `);
  }
}
