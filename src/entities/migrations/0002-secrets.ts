import { Migration } from "@mikro-orm/migrations";

/** User secrets, and the keys that encrypt. */
export class Secrets extends Migration {
  override up(): void {
    this.addSql(`
      create table encryption_keys (
        id varchar(64) not null,
        check_value bytea not null,
        created_at timestamptz(3) not null,
        primary key (id)
      );

      create table user_secrets (
        id uuid not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        user_id uuid not null,
        name varchar(255) not null,
        description varchar(1024) not null default '',
        env_name varchar(256) not null default '',
        file_path varchar(4096) not null default '',
        value_ciphertext bytea not null,
        value_nonce bytea not null,
        key_id varchar(64) not null,
        value_bytes int not null,
        last_delivered_at timestamptz(3),
        primary key (id)
      );
      create unique index user_secrets_name_unique on user_secrets (user_id, name collate "C");
      create unique index user_secrets_env_name_unique on user_secrets (user_id, env_name) where env_name <> '';
      create unique index user_secrets_file_path_unique on user_secrets (user_id, md5(file_path)) where file_path <> '';
      create index user_secrets_key_index on user_secrets (key_id, id);
      alter table user_secrets add constraint user_secrets_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
      alter table user_secrets add constraint user_secrets_key_id_foreign foreign key (key_id) references encryption_keys (id);
    `);
  }
}
