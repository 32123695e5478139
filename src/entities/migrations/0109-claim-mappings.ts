import { Migration } from "@mikro-orm/migrations";

/** Claims of providers that become groups, memberships of organizations, and roles. */
export class ClaimMappings extends Migration {
  override up(): void {
    this.addSql(`
      alter table sign_in_providers
        add column claim_mappings jsonb not null default '[]',
        add column applies_claims boolean not null default false;

      alter table sign_in_reports
        add column warned_at timestamptz(3) null,
        add column warning varchar(512) not null default '';

      create table claimed_gifts (
        user_id uuid not null,
        provider varchar(32) not null,
        gift varchar(128) not null,
        claim varchar(128) not null,
        created_at timestamptz(3) not null,
        primary key (user_id, provider, gift)
      );
      alter table claimed_gifts add constraint claimed_gifts_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
    `);
  }
}
