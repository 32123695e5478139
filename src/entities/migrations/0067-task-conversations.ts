import { Migration } from "@mikro-orm/migrations";

/** The conversations of tasks in a structured form, and what users want from their programs. */
export class TaskConversations extends Migration {
  override up(): void {
    this.addSql(
      `create table task_conversation_messages (id uuid not null, task_id uuid not null, key varchar(128) not null, seq int not null, build_number int not null, role text not null, parts jsonb not null, is_cut boolean not null default false, bytes int not null, revision int not null, written_at timestamptz(3) not null, primary key (id))`,
    );
    this.addSql(
      `create index task_conversation_messages_revision_index on task_conversation_messages (task_id, revision)`,
    );
    this.addSql(
      `alter table task_conversation_messages add constraint task_conversation_messages_key_unique unique (task_id, key)`,
    );
    this.addSql(
      `alter table task_conversation_messages add constraint task_conversation_messages_seq_unique unique (task_id, seq, id)`,
    );
    this.addSql(
      `create table task_conversations (task_id uuid not null, build_number int not null, protocol text not null, is_reported boolean not null default false, state text null, state_message varchar(512) not null default '', session_id varchar(512) null, last_seq int not null default 0, revision int not null default 0, omitted int not null default 0, omitted_until timestamptz(3) null, updated_at timestamptz(3) not null, primary key (task_id))`,
    );
    this.addSql(
      `create table task_actions (id uuid not null, task_id uuid not null, build_number int not null, kind text not null, request_id varchar(128) not null default '', option_id varchar(128) not null default '', created_at timestamptz(3) not null, finished_at timestamptz(3) null, primary key (id))`,
    );
    this.addSql(`create index task_actions_open_index on task_actions (task_id, id) where finished_at is null`);
    this.addSql(`create index task_actions_created_index on task_actions (created_at)`);
    this.addSql(
      `create unique index task_actions_decision_unique on task_actions (task_id, build_number, request_id) where kind = 'decision'`,
    );
    this.addSql(`alter table template_versions add column task_protocol text not null default 'agentapi'`);
    this.addSql(
      `alter table template_versions add constraint template_versions_task_protocol_check check (task_protocol in ('agentapi', 'acp'))`,
    );
    this.addSql(`alter table task_log_snapshots add column is_cut boolean not null default false`);
    this.addSql(
      `alter table task_conversation_messages add constraint task_conversation_messages_task_id_foreign foreign key (task_id) references tasks (id) on delete cascade`,
    );
    this.addSql(
      `alter table task_conversation_messages add constraint task_conversation_messages_role_check check (role in ('user', 'agent'))`,
    );
    this.addSql(
      `alter table task_conversations add constraint task_conversations_task_id_foreign foreign key (task_id) references tasks (id) on update cascade on delete cascade`,
    );
    this.addSql(
      `alter table task_conversations add constraint task_conversations_protocol_check check (protocol in ('agentapi', 'acp'))`,
    );
    this.addSql(
      `alter table task_conversations add constraint task_conversations_state_check check (state in ('working', 'idle', 'requires_action', 'error'))`,
    );
    this.addSql(
      `alter table task_actions add constraint task_actions_task_id_foreign foreign key (task_id) references tasks (id) on delete cascade`,
    );
    this.addSql(
      `alter table task_actions add constraint task_actions_kind_check check (kind in ('decision', 'interrupt'))`,
    );
  }
}
