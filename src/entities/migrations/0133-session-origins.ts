import { Migration } from "@mikro-orm/migrations";

/** How the user of a session signed in, and at which provider. */
export class SessionOrigins extends Migration {
  override up(): void {
    this.addSql(`
      alter table api_keys
        add column factor varchar(16) null,
        add column provider varchar(32) null;
    `);
  }
}
