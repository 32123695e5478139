import { BackfillMigration } from "./backfill.js";

/** The largest integer that JSON numbers hold: amounts are shown up to it. */
const most = Number.MAX_SAFE_INTEGER;

/** Adds the sums of amounts to those of their months, in one order: reports about the same users never deadlock. */
const addSums = (from: string) => `
  insert into ai_month_spending as s (organization_id, month, user_id, amount_micros)
  select organization_id, date_trunc('month', at, 'UTC'), user_id, least(sum(amount_micros), ${most})
  from ${from} group by 1, 2, 3 order by 1, 2, 3
  on conflict (organization_id, month, user_id) do update
  set amount_micros = least(s.amount_micros + excluded.amount_micros, ${most})`;

/**
 * Keeps the sum of what a user spent on AI in a month, whichever release reports it: budgets read one row, and the overview
 * of an organization one for each user. What was reported before is marked by the default of its column, and is summed for
 * the current month, which is the only one that is read.
 */
export class AiMonthSpending extends BackfillMigration {
  override up(): void {
    this.addSql(`
      create table ai_month_spending (
        organization_id uuid not null,
        month timestamptz(3) not null,
        user_id uuid not null,
        amount_micros bigint not null,
        primary key (organization_id, month, user_id),
        constraint ai_month_spending_organization_id_foreign
          foreign key (organization_id) references organizations (id) on delete cascade,
        constraint ai_month_spending_user_id_foreign foreign key (user_id) references users (id) on delete cascade
      );
      create index ai_month_spending_user_index on ai_month_spending (user_id);

      alter table ai_usage add column is_summed boolean not null default false;
      alter table ai_usage alter column is_summed set default true;
      create function sum_ai_usage() returns trigger language plpgsql as $$
      begin
        ${addSums("added")};
        return null;
      end $$;
      create trigger sum_ai_usage after insert on ai_usage referencing new table as added
        for each statement execute function sum_ai_usage();
      drop index ai_usage_month_index;
    `);
    this.addBackfill(`
      with before as (
        update ai_usage set is_summed = true
        where id = any(array(
          select id from ai_usage where not is_summed and at >= date_trunc('month', now(), 'UTC') limit 2000))
        returning organization_id, at, user_id, amount_micros
      ) ${addSums("before")}`);
  }
}
