import { Migration } from "@mikro-orm/migrations";

/** One-time passcodes, sign-in through identity providers, and the conversion of accounts to it. */
export class SignIn extends Migration {
  override up(): void {
    this.addSql(`
      create table user_links (
        provider text not null,
        issuer varchar(2048) not null,
        subject varchar(255) not null,
        user_id uuid not null,
        created_at timestamptz(3) not null,
        primary key (provider, issuer, subject)
      );
      alter table user_links add constraint user_links_user_unique unique (user_id);

      create table one_time_passcodes (
        user_id uuid not null,
        code_hash bytea,
        expires_at timestamptz(3) not null,
        attempts int not null default 0,
        requested_at timestamptz[] not null,
        primary key (user_id)
      );

      create table login_conversions (
        user_id uuid not null,
        state_hash bytea not null,
        to_type text not null,
        expires_at timestamptz(3) not null,
        used_at timestamptz(3),
        primary key (user_id)
      );
      alter table login_conversions add constraint login_conversions_state_unique unique (state_hash);

      create table spent_sign_ins (
        state_hash bytea not null,
        expires_at timestamptz(3) not null,
        primary key (state_hash)
      );
      create index spent_sign_ins_expiry_index on spent_sign_ins (expires_at);

      alter table deployment add column page_key bytea;
      update deployment set page_key = sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'));
      alter table deployment alter column page_key set not null;

      alter table user_links add constraint user_links_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
      alter table user_links add constraint user_links_provider_check check (provider in ('oidc', 'github'));
      alter table one_time_passcodes add constraint one_time_passcodes_user_id_foreign foreign key (user_id) references users (id) on update cascade on delete cascade;
      alter table login_conversions add constraint login_conversions_user_id_foreign foreign key (user_id) references users (id) on update cascade on delete cascade;
      alter table login_conversions add constraint login_conversions_to_type_check check (to_type in ('oidc', 'github'));
`);
  }
}
