import { Migration } from "@mikro-orm/migrations";

/** Any number of providers at which users sign in, and an identity of a user at each of them. */
export class SignInProviders extends Migration {
  override up(): void {
    this.addSql(`
      alter table user_links drop constraint user_links_user_unique;
      alter table user_links drop constraint user_links_provider_check;
      alter table user_links add column kind text null;
      create unique index user_links_user_provider_unique on user_links (user_id, provider);

      create table sign_in_providers (
        id uuid not null primary key,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        name varchar(32) not null,
        kind text not null,
        display_name varchar(64) not null,
        icon varchar(16384) not null,
        issuer varchar(2048) not null,
        client_id varchar(255) not null,
        client_auth text not null,
        secret_ciphertext bytea null,
        secret_nonce bytea null,
        key_id varchar(64) null,
        scopes text[] not null,
        subject_claim varchar(128) not null,
        email_verified text not null,
        email_domains text[] not null,
        follows_email boolean not null,
        links_by_email text not null,
        admits_newcomers boolean not null,
        organization_ids uuid[] not null,
        tenants text[] not null,
        hosted_domains text[] not null,
        is_enabled boolean not null,
        position int not null,
        revision int not null default 1
      );
      alter table sign_in_providers add constraint sign_in_providers_name_unique unique (name);
      create index sign_in_providers_key_index on sign_in_providers (key_id, id) where key_id is not null;
      alter table sign_in_providers add constraint sign_in_providers_key_id_foreign foreign key (key_id) references encryption_keys (id) on delete set null;
      alter table sign_in_providers add constraint sign_in_providers_kind_check check (kind in ('oidc', 'github'));
      alter table sign_in_providers add constraint sign_in_providers_client_auth_check check (client_auth in ('secret', 'private_key'));
      alter table sign_in_providers add constraint sign_in_providers_email_verified_check check (email_verified in ('trusted', 'required'));
      alter table sign_in_providers add constraint sign_in_providers_links_by_email_check check (links_by_email in ('any', 'domains', 'never'));

      create table sign_in_reports (
        provider varchar(32) not null primary key,
        succeeded_at timestamptz(3) null,
        failed_at timestamptz(3) null,
        failure varchar(512) not null default ''
      );
    `);
  }
}
