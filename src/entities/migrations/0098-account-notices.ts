import { Migration } from "@mikro-orm/migrations";

/**
 * The outbox of notices about accounts to administrators: the transaction that causes one adds a row, and a job adds it to the
 * inboxes of all recipients, whose rows all creations of users would wait for. No references: a foreign key would lock the user
 * who is the cause of many.
 */
export class AccountNotices extends Migration {
  override up(): void {
    this.addSql(`
      create table account_notices (
        id uuid not null primary key,
        template_id uuid not null,
        audience text not null constraint account_notices_audience_check check (audience in ('administrators', 'owners')),
        user_id uuid not null,
        initiator_id uuid null,
        labels jsonb not null,
        created_at timestamptz(3) not null default now()
      );
      create index account_notices_age_index on account_notices (created_at);
    `);
  }
}
