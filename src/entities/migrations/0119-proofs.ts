import { Migration } from "@mikro-orm/migrations";

/** When the user of a session last proved who that is. */
export class Proofs extends Migration {
  override up(): void {
    this.addSql(`alter table api_keys add column proved_at timestamptz(3) null;`);
  }
}
