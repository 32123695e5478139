import { Migration } from "@mikro-orm/migrations";

/** E-mails and usernames are compared with A to Z folded and nothing else, whatever the locale of the database. */
export class Folding extends Migration {
  override up(): void {
    this.addSql(`
      drop index users_email_unique;
      drop index users_username_unique;
      create unique index users_email_unique on users (lower(email collate "C")) where deleted_at is null;
      create unique index users_username_unique on users (lower(username collate "C")) where deleted_at is null;
    `);
  }
}
