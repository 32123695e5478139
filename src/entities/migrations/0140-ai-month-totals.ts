import { Migration } from "@mikro-orm/migrations";

/** Keeps totals by what was added to, and removed from, the sums of users: transition tables of a statement. */
const keepTotals = (when: string, tables: string, change: string) => `
  create function total_ai_spending_${when}() returns trigger language plpgsql as $$
  begin
    ${change};
    return null;
  end $$;
  create trigger total_ai_spending_${when} after ${when} on ai_month_spending referencing ${tables}
    for each statement execute function total_ai_spending_${when}();`;

const sums = (from: string) => `
  select organization_id, month, sum(amount_micros) as amount, count(*)::int as spenders from ${from} group by 1, 2 order by 1, 2`;

const addTotals = (from: string) => `
  insert into ai_month_totals as t (organization_id, month, amount_micros, spender_count) ${sums(from)}
  on conflict (organization_id, month) do update
  set amount_micros = t.amount_micros + excluded.amount_micros, spender_count = t.spender_count + excluded.spender_count`;

const changeTotals = (changes: string) => `
  update ai_month_totals t set amount_micros = t.amount_micros + amount, spender_count = t.spender_count + spenders
  from (${changes}) c where t.organization_id = c.organization_id and t.month = c.month`;

/**
 * Keeps what an organization spent on AI in a month, and the number of its spenders, with the sums of its users: its
 * overview reads one row instead of one for each user, and those who spent the most by an index.
 */
export class AiMonthTotals extends Migration {
  override up(): void {
    this.addSql(`
      create table ai_month_totals (
        organization_id uuid not null,
        month timestamptz(3) not null,
        amount_micros numeric not null,
        spender_count int not null,
        primary key (organization_id, month),
        constraint ai_month_totals_organization_id_foreign
          foreign key (organization_id) references organizations (id) on delete cascade
      );
      create index ai_month_spending_amount_index on ai_month_spending (organization_id, month, amount_micros desc, user_id);
      ${keepTotals("insert", "new table as added", addTotals("added"))}
      ${keepTotals(
        "update",
        "old table as removed new table as added",
        changeTotals(`
          select organization_id, month, sum(amount) as amount, 0 as spenders from (
            select organization_id, month, amount_micros as amount from added
            union all select organization_id, month, -amount_micros from removed) each
          group by 1, 2 order by 1, 2`),
      )}
      ${keepTotals(
        "delete",
        "old table as removed",
        changeTotals(
          `select organization_id, month, -amount as amount, -spenders as spenders from (${sums("removed")}) each`,
        ),
      )}
      ${addTotals("ai_month_spending")};
    `);
  }
}
