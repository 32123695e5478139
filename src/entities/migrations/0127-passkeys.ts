import { Migration } from "@mikro-orm/migrations";

/** Passkeys of users who sign in with a password, and what they sign. */
export class Passkeys extends Migration {
  override up(): void {
    this.addSql(`
      create table passkeys (
        id uuid not null primary key,
        user_id uuid not null,
        name varchar(64) not null,
        credential_id bytea not null,
        public_key bytea not null,
        sign_count bigint not null,
        transports text[] not null default '{}',
        is_backed_up boolean not null,
        created_at timestamptz(3) not null,
        last_used_at timestamptz(3) null
      );
      create index passkeys_user_index on passkeys (user_id);
      alter table passkeys add constraint passkeys_credential_id_unique unique (credential_id);
      alter table passkeys add constraint passkeys_user_id_foreign foreign key (user_id) references users (id) on delete cascade;

      create table passkey_challenges (
        challenge_hash bytea not null primary key,
        purpose text not null,
        user_id uuid null,
        key_id varchar(10) null,
        expires_at timestamptz(3) not null
      );
      create index passkey_challenges_user_index on passkey_challenges (user_id);
      create index passkey_challenges_expiry_index on passkey_challenges (expires_at);
      alter table passkey_challenges add constraint passkey_challenges_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
      alter table passkey_challenges add constraint passkey_challenges_purpose_check check (purpose in ('add', 'prove', 'complete', 'sign_in'));
    `);
  }
}
