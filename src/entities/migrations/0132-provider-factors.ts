import { Migration } from "@mikro-orm/migrations";

/** The values of claims by which a provider says that it asked for a second factor. */
export class ProviderFactors extends Migration {
  override up(): void {
    this.addSql(`
      alter table sign_in_providers
        add column factor_methods text[] not null default '{}',
        add column factor_contexts text[] not null default '{}';
    `);
  }
}
