import { Migration } from "@mikro-orm/migrations";

/** OAuth2 applications, their secrets, what users granted to them, and access tokens of grants. */
export class OAuth2 extends Migration {
  override up(): void {
    this.addSql(`
      create table oauth2_clients (
        id uuid not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        kind text not null,
        type text not null,
        name varchar(64) not null,
        icon varchar(2048) not null default '',
        redirect_uris text[] not null,
        pkce_required boolean not null,
        scope_ceiling text[],
        grant_types text[] not null,
        auth_method text,
        service_user_id uuid,
        document_url varchar(2048),
        document_fresh_until timestamptz(3),
        document_usable_until timestamptz(3),
        metadata jsonb not null,
        registration_hash bytea,
        next_registration_hash bytea,
        last_used_at timestamptz(3),
        created_by_id uuid,
        created_ip varchar(45),
        is_disabled boolean not null default false,
        primary key (id)
      );
      create index oauth2_clients_service_user_index on oauth2_clients (service_user_id);
      create index oauth2_clients_creator_index on oauth2_clients (created_by_id);
      create index oauth2_clients_name_index on oauth2_clients (kind, lower(name collate "C"), id);
      create index oauth2_clients_unused_index on oauth2_clients (last_used_at, created_at) where kind <> 'admin';
      alter table oauth2_clients add constraint oauth2_clients_document_unique unique (document_url);

      create table oauth2_resources (
        uri varchar(2048) not null,
        client_id uuid not null,
        primary key (uri)
      );
      create index oauth2_resources_client_index on oauth2_resources (client_id);

      create table oauth2_client_secrets (
        id uuid not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        client_id uuid not null,
        key varchar(10) not null,
        secret_hash bytea not null,
        suffix varchar(6) not null,
        last_used_at timestamptz(3),
        expires_at timestamptz(3),
        primary key (id)
      );
      create index oauth2_client_secrets_client_index on oauth2_client_secrets (client_id);
      alter table oauth2_client_secrets add constraint oauth2_client_secrets_key_unique unique (key);

      create table oauth2_grants (
        id uuid not null,
        user_id uuid not null,
        client_id uuid not null,
        secret_id uuid,
        scopes text[] not null,
        audiences text[] not null,
        ip varchar(45),
        created_at timestamptz(3) not null,
        last_used_at timestamptz(3) not null,
        expires_at timestamptz(3) not null,
        revoked_at timestamptz(3),
        revoke_reason varchar(32),
        primary key (id)
      );
      create index oauth2_grants_client_index on oauth2_grants (client_id, id);
      create index oauth2_grants_secret_index on oauth2_grants (secret_id);
      create index oauth2_grants_expiry_index on oauth2_grants (expires_at);
      create index oauth2_grants_user_client_index on oauth2_grants (user_id, client_id);

      create table oauth2_refresh_tokens (
        id varchar(10) not null,
        secret_hash bytea not null,
        grant_id uuid not null,
        created_at timestamptz(3) not null,
        expires_at timestamptz(3) not null,
        spent_at timestamptz(3),
        repeats smallint not null default 0,
        primary key (id)
      );
      create index oauth2_refresh_tokens_grant_index on oauth2_refresh_tokens (grant_id);

      create table oauth2_device_codes (
        id varchar(10) not null,
        secret_hash bytea not null,
        user_code varchar(8) not null,
        client_id uuid not null,
        grant_id uuid,
        scopes text[] not null,
        audiences text[] not null,
        state text not null,
        ip varchar(45),
        created_at timestamptz(3) not null,
        expires_at timestamptz(3) not null,
        polled_at timestamptz(3),
        poll_interval smallint not null,
        primary key (id)
      );
      create index oauth2_device_codes_client_index on oauth2_device_codes (client_id);
      create index oauth2_device_codes_grant_index on oauth2_device_codes (grant_id);
      create index oauth2_device_codes_expiry_index on oauth2_device_codes (expires_at);
      alter table oauth2_device_codes add constraint oauth2_device_codes_user_code_unique unique (user_code);

      create table oauth2_codes (
        id varchar(10) not null,
        secret_hash bytea not null,
        grant_id uuid not null,
        redirect_uri varchar(2048) not null,
        code_challenge varchar(43),
        state text not null,
        expires_at timestamptz(3) not null,
        primary key (id)
      );
      create index oauth2_codes_grant_index on oauth2_codes (grant_id);
      create index oauth2_codes_expiry_index on oauth2_codes (expires_at);

      alter table api_keys drop column audience;
      alter table api_keys add grant_id uuid, add audiences text[] not null default '{}';
      alter table api_keys add constraint api_keys_grant_id_foreign foreign key (grant_id) references oauth2_grants (id) on delete cascade;
      create index api_keys_grant_index on api_keys (grant_id) where grant_id is not null;

      alter table oauth2_clients add constraint oauth2_clients_service_user_id_foreign foreign key (service_user_id) references users (id) on delete set null;
      alter table oauth2_clients add constraint oauth2_clients_created_by_id_foreign foreign key (created_by_id) references users (id) on delete set null;
      alter table oauth2_clients add constraint oauth2_clients_kind_check check (kind in ('admin', 'dynamic', 'document'));
      alter table oauth2_clients add constraint oauth2_clients_type_check check (type in ('confidential', 'public'));
      alter table oauth2_clients add constraint oauth2_clients_auth_method_check check (auth_method in ('client_secret_basic', 'client_secret_post', 'none'));

      alter table oauth2_resources add constraint oauth2_resources_client_id_foreign foreign key (client_id) references oauth2_clients (id) on delete cascade;

      alter table oauth2_client_secrets add constraint oauth2_client_secrets_client_id_foreign foreign key (client_id) references oauth2_clients (id) on delete cascade;

      alter table oauth2_grants add constraint oauth2_grants_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
      alter table oauth2_grants add constraint oauth2_grants_client_id_foreign foreign key (client_id) references oauth2_clients (id) on delete cascade;
      alter table oauth2_grants add constraint oauth2_grants_secret_id_foreign foreign key (secret_id) references oauth2_client_secrets (id) on delete set null;

      alter table oauth2_refresh_tokens add constraint oauth2_refresh_tokens_grant_id_foreign foreign key (grant_id) references oauth2_grants (id) on delete cascade;

      alter table oauth2_device_codes add constraint oauth2_device_codes_client_id_foreign foreign key (client_id) references oauth2_clients (id) on delete cascade;
      alter table oauth2_device_codes add constraint oauth2_device_codes_grant_id_foreign foreign key (grant_id) references oauth2_grants (id) on delete cascade;
      alter table oauth2_device_codes add constraint oauth2_device_codes_state_check check (state in ('pending', 'approved', 'denied', 'redeemed'));

      alter table oauth2_codes add constraint oauth2_codes_grant_id_foreign foreign key (grant_id) references oauth2_grants (id) on delete cascade;
      alter table oauth2_codes add constraint oauth2_codes_state_check check (state in ('issued', 'used', 'burnt'));
    `);
  }
}
