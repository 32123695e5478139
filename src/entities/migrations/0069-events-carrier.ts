import { Migration } from "@mikro-orm/migrations";

/** Servers are told if replicas send their messages by different carriers. */
export class EventsCarrier extends Migration {
  override up(): void {
    this.addSql("alter table deployment add column events_carrier text null");
  }
}
