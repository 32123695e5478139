import { Migration } from "@mikro-orm/migrations";

/** Authenticators and recovery codes of users who sign in with a password. */
export class SecondFactors extends Migration {
  override up(): void {
    this.addSql(`
      create table authenticators (
        id uuid not null primary key,
        user_id uuid not null,
        created_at timestamptz(3) not null,
        confirmed_at timestamptz(3) null,
        last_step int null,
        secret_ciphertext bytea null,
        secret_nonce bytea null,
        key_id varchar(64) null
      );
      create unique index authenticators_confirmed_unique on authenticators (user_id) where confirmed_at is not null;
      create unique index authenticators_pending_unique on authenticators (user_id) where confirmed_at is null;
      create index authenticators_key_index on authenticators (key_id, id) where key_id is not null;
      alter table authenticators add constraint authenticators_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
      alter table authenticators add constraint authenticators_key_id_foreign foreign key (key_id) references encryption_keys (id) on delete set null;

      create table recovery_codes (
        user_id uuid not null,
        code_hash bytea not null,
        created_at timestamptz(3) not null,
        primary key (user_id, code_hash)
      );
      alter table recovery_codes add constraint recovery_codes_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
    `);
  }
}
