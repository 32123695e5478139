import { Migration } from "@mikro-orm/migrations";

/** Counters of rate limits, and the addresses from which users have signed in. */
export class RateLimits extends Migration {
  override up(): void {
    this.addSql(`
      create unlogged table rate_counters (
        key bytea not null,
        since timestamptz(3) not null,
        current int not null,
        previous int not null,
        is_refused boolean not null,
        expires_at timestamptz(3) not null,
        primary key (key)
      );
      create index rate_counters_expiry_index on rate_counters (expires_at);

      create table login_addresses (
        user_id uuid not null,
        address varchar(45) not null,
        last_used_at timestamptz(3) not null,
        primary key (user_id, address)
      );
      create index login_addresses_age_index on login_addresses (last_used_at);
      alter table login_addresses add constraint login_addresses_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
`);
  }
}
