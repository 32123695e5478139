import { Migration } from "@mikro-orm/migrations";

/** The sessions at providers with which sessions began. */
export class ProviderSessions extends Migration {
  override up(): void {
    this.addSql(`
      alter table sign_in_providers add column signs_out boolean not null default false;

      create table provider_sessions (
        id uuid not null primary key,
        api_key_id varchar(10) not null,
        provider varchar(32) not null,
        issuer varchar(2048) not null,
        subject varchar(255) not null,
        sid varchar(255) null,
        tokens_ciphertext bytea null,
        tokens_nonce bytea null,
        key_id varchar(64) null,
        created_at timestamptz(3) not null
      );
      alter table provider_sessions add constraint provider_sessions_api_key_unique unique (api_key_id);
      create index provider_sessions_sid_index on provider_sessions (provider, sid) where sid is not null;
      create index provider_sessions_subject_index on provider_sessions (provider, subject);
      create index provider_sessions_key_index on provider_sessions (key_id, id) where key_id is not null;
      alter table provider_sessions add constraint provider_sessions_api_key_id_foreign foreign key (api_key_id) references api_keys (id) on delete cascade;
      alter table provider_sessions add constraint provider_sessions_key_id_foreign foreign key (key_id) references encryption_keys (id) on delete set null;
    `);
  }
}
