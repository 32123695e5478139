import { Migration } from "@mikro-orm/migrations";

/** Links of users to outside services, pending links, and device codes. */
export class ExternalAuth extends Migration {
  override up(): void {
    this.addSql(`
      create table external_auth_states (
        id uuid not null,
        state_hash bytea not null,
        user_id uuid not null,
        provider_id varchar(32) not null,
        browser_hash bytea not null,
        verifier_ciphertext bytea,
        verifier_nonce bytea,
        key_id varchar(64),
        return_path varchar(8192) not null default '',
        expires_at timestamptz(3) not null,
        consumed_at timestamptz(3),
        primary key (id)
      );
      create index external_auth_states_expiry_index on external_auth_states (expires_at);
      create index external_auth_states_user_index on external_auth_states (user_id, provider_id);
      create index external_auth_states_key_index on external_auth_states (key_id, id);
      alter table external_auth_states add constraint external_auth_states_state_unique unique (state_hash);

      create table external_auth_links (
        id uuid not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        provider_id varchar(32) not null,
        user_id uuid not null,
        access_token_ciphertext bytea not null,
        access_token_nonce bytea not null,
        access_token_key_id varchar(64) not null,
        refresh_token_ciphertext bytea,
        refresh_token_nonce bytea,
        refresh_token_key_id varchar(64),
        extra_ciphertext bytea,
        extra_nonce bytea,
        extra_key_id varchar(64),
        expires_at timestamptz(3),
        scopes text[] not null default '{}',
        account jsonb,
        refresh_error varchar(400) not null default '',
        validation text not null default 'unknown',
        validated_at timestamptz(3),
        validation_paused_until timestamptz(3),
        version int not null default 1,
        refreshing_until timestamptz(3),
        revoke_at timestamptz(3),
        revoke_attempts int not null default 0,
        primary key (id)
      );
      create index external_auth_links_user_index on external_auth_links (user_id);
      create index external_auth_links_access_key_index on external_auth_links (access_token_key_id, id);
      create index external_auth_links_refresh_key_index on external_auth_links (refresh_token_key_id, id);
      create index external_auth_links_extra_key_index on external_auth_links (extra_key_id, id);
      create index external_auth_links_revocation_index on external_auth_links (revoke_at) where revoke_at is not null;
      alter table external_auth_links add constraint external_auth_links_unique unique (provider_id, user_id);

      create table external_auth_devices (
        id uuid not null,
        user_id uuid not null,
        provider_id varchar(32) not null,
        code_hash bytea not null,
        code_ciphertext bytea not null,
        code_nonce bytea not null,
        key_id varchar(64) not null,
        interval_seconds int not null,
        next_poll_at timestamptz(3) not null,
        polling_until timestamptz(3),
        expires_at timestamptz(3) not null,
        redeemed_at timestamptz(3),
        primary key (id)
      );
      create index external_auth_devices_expiry_index on external_auth_devices (expires_at);
      create index external_auth_devices_key_index on external_auth_devices (key_id, id);
      alter table external_auth_devices add constraint external_auth_devices_code_unique unique (user_id, provider_id, code_hash);
      alter table deployment add column external_auth_hash bytea;
      alter table external_auth_states add constraint external_auth_states_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
      alter table external_auth_states add constraint external_auth_states_key_id_foreign foreign key (key_id) references encryption_keys (id) on delete cascade;
      alter table external_auth_links add constraint external_auth_links_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
      alter table external_auth_links add constraint external_auth_links_access_token_key_id_foreign foreign key (access_token_key_id) references encryption_keys (id);
      alter table external_auth_links add constraint external_auth_links_refresh_token_key_id_foreign foreign key (refresh_token_key_id) references encryption_keys (id) on delete no action;
      alter table external_auth_links add constraint external_auth_links_extra_key_id_foreign foreign key (extra_key_id) references encryption_keys (id) on delete no action;
      alter table external_auth_links add constraint external_auth_links_validation_check check (validation in ('valid', 'invalid', 'unknown'));
      alter table external_auth_devices add constraint external_auth_devices_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
      alter table external_auth_devices add constraint external_auth_devices_key_id_foreign foreign key (key_id) references encryption_keys (id) on delete cascade;
    `);
  }
}
