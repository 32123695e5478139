import { Migration } from "@mikro-orm/migrations";

/** The file of the logo. */
export class Logos extends Migration {
  override up(): void {
    this.addSql(`
      create table logos (
        sha256 varchar(64) not null primary key,
        media_type varchar(16) not null,
        content bytea not null
      );
    `);
  }
}
