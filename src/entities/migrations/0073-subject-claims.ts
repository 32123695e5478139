import { Migration } from "@mikro-orm/migrations";

/** Subjects of identities are from a claim that operators choose. Those before are from `sub`. */
export class SubjectClaims extends Migration {
  override up(): void {
    this.addSql("alter table user_links add column claim varchar(128) not null default 'sub'");
  }
}
