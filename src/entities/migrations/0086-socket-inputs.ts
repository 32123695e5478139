import { Migration } from "@mikro-orm/migrations";

/** Inputs that agents take as actions, who sent them, and the mode of sessions. Names of provisioner keys in lower case. */
export class SocketInputs extends Migration {
  override up(): void {
    this.addSql(
      `lock table task_conversations, task_conversation_messages, task_actions, template_versions, provisioner_keys in access exclusive mode`,
    );
    this.addSql(
      `alter table task_conversations add column takes_inputs boolean not null default false, add column session_mode varchar(128) not null default '', add column asks_nobody boolean not null default false`,
    );
    this.addSql(`alter table task_conversation_messages add column sender_id uuid null`);
    this.addSql(
      `alter table task_conversation_messages add constraint task_conversation_messages_sender_id_foreign foreign key (sender_id) references users (id) on delete set null not valid`,
    );
    // Actions are kept for a day, so that the table is small.
    this.addSql(`alter table task_actions drop constraint task_actions_kind_check`);
    this.addSql(
      `alter table task_actions add constraint task_actions_kind_check check (kind in ('decision', 'interrupt', 'input'))`,
    );
    this.addSql(`alter table template_versions add column task_options jsonb null`);
    this.addSql(`update provisioner_keys set name = lower(name) where name <> lower(name)`);
  }
}
