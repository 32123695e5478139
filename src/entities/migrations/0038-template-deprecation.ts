import { Migration } from "@mikro-orm/migrations";

/** Templates can be deprecated. */
export class TemplateDeprecation extends Migration {
  override up(): void {
    this.addSql("alter table templates add column deprecation_message varchar(1000) not null default ''");
  }
}
