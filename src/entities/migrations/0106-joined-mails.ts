import { Migration } from "@mikro-orm/migrations";

/** Finds the mails that wait for others of their template, to be sent together. */
export class JoinedMails extends Migration {
  override up(): void {
    this.addSql(`
      create index notification_messages_waiting_index on notification_messages (user_id, template_id, created_at, id)
        where state in ('pending', 'temporary_failure') and method = 'smtp';
    `);
  }
}
