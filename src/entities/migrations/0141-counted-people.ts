import { Migration } from "@mikro-orm/migrations";

/** Counts the people with a password by an index of them, and finds the messages of a rare method among many mails. */
export class CountedPeople extends Migration {
  override up(): void {
    this.addSql(`
      create index users_with_password_index on users (id)
        where login_type = 'password' and status = 'active' and not is_service_account
          and deleted_at is null and not is_system;
      create index notification_messages_method_index on notification_messages (method, created_at, id)
        where method <> 'smtp';
    `);
  }
}
