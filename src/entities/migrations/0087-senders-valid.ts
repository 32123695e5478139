import { Migration } from "@mikro-orm/migrations";

/** Validates the reference to the senders of messages, which every message before it leaves empty. */
export class SendersValid extends Migration {
  override up(): void {
    this.addSql(
      `alter table task_conversation_messages validate constraint task_conversation_messages_sender_id_foreign`,
    );
  }
}
