import { Migration } from "@mikro-orm/migrations";

/** When providers are asked again about people who are signed in. */
export class ProviderChecks extends Migration {
  override up(): void {
    this.addSql(`
      alter table sign_in_providers
        add column check_interval int not null default 0,
        add column locks_groups boolean not null default false;

      alter table provider_sessions add column check_at timestamptz(3) null;
      create index provider_sessions_check_index on provider_sessions (check_at) where check_at is not null;

      create table sign_in_faults (
        provider varchar(32) not null,
        fault varchar(160) not null,
        told_at timestamptz(3) not null,
        primary key (provider, fault)
      );
    `);
  }
}
