import { Migration } from "@mikro-orm/migrations";

/** An index that sums up the AI spending of an organization in a month. */
export class MonthSpending extends Migration {
  override up(): void {
    this.addSql("create index ai_usage_month_index on ai_usage (organization_id, at) include (user_id, amount_micros)");
  }
}
