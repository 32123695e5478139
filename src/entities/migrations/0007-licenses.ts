import { Migration } from "@mikro-orm/migrations";

/** Licenses. */
export class Licenses extends Migration {
  override up(): void {
    this.addSql(`
      create table licenses (
        id serial not null,
        uuid uuid not null,
        uploaded_at timestamptz(3) not null,
        token text not null,
        token_sha256 bytea not null,
        expires_at timestamptz(3),
        primary key (id)
      );
      alter table licenses add constraint licenses_token_unique unique (token_sha256);
    `);
  }
}
