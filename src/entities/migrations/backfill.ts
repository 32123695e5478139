import { Migration } from "@mikro-orm/migrations";

/** A migration that fills in existing rows after its transaction, while servers of earlier releases write others. */
export abstract class BackfillMigration extends Migration {
  readonly backfills: string[] = [];

  /**
   * Adds a statement that runs in transactions of its own, again and again until it changes no row. It must change few
   * rows at a time, such as 1,000, and only rows that lack the value. A trigger, which the same migration creates, sets the
   * value in rows that others write.
   */
  protected addBackfill(sql: string): void {
    this.backfills.push(sql);
  }
}
