import { Migration } from "@mikro-orm/migrations";

/** Messages to users outside of inboxes, their delivery, and what users and owners decided about it. */
export class NotificationMessages extends Migration {
  override up(): void {
    this.addSql(`
      create table notification_template_methods (
        template_id uuid not null,
        method text not null,
        former varchar(16),
        primary key (template_id)
      );

      create table notification_preferences (
        user_id uuid not null,
        template_id uuid not null,
        method text not null,
        is_disabled boolean not null,
        updated_at timestamptz(3) not null,
        primary key (user_id, template_id, method)
      );

      create table notification_messages (
        id uuid not null,
        event_id uuid not null,
        template_id uuid not null,
        user_id uuid not null,
        method text not null,
        state text not null,
        reason varchar(512),
        payload jsonb,
        secret_ciphertext bytea,
        secret_nonce bytea,
        key_id varchar(64),
        attempts int not null default 0,
        attempts_left int not null,
        next_attempt_at timestamptz(3) not null,
        lease_token uuid,
        dedupe_key varchar(128),
        expires_at timestamptz(3) not null,
        created_at timestamptz(3) not null,
        finished_at timestamptz(3),
        primary key (id)
      );
      create index notification_messages_due_index on notification_messages (next_attempt_at, id) where state in ('pending', 'temporary_failure', 'leased');
      create index notification_messages_finished_index on notification_messages (finished_at) where finished_at is not null;
      create index notification_messages_key_index on notification_messages (key_id, id) where key_id is not null;
      create index notification_messages_user_index on notification_messages (user_id, created_at, id);
      create index notification_messages_state_index on notification_messages (state, created_at, id);
      create index notification_messages_page_index on notification_messages (created_at, id);
      create unique index notification_messages_dedupe_unique on notification_messages (template_id, user_id, method, dedupe_key) where dedupe_key is not null;

      create table notification_attempts (
        message_id uuid not null,
        number int not null,
        time timestamptz(3) not null,
        duration int not null,
        outcome text not null,
        detail varchar(512),
        replica uuid not null,
        primary key (message_id, number)
      );

      alter table notification_template_methods add constraint notification_template_methods_method_check check (method in ('smtp', 'webhook', 'inbox'));

      alter table notification_preferences add constraint notification_preferences_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
      alter table notification_preferences add constraint notification_preferences_method_check check (method in ('smtp', 'webhook', 'inbox'));

      alter table notification_messages add constraint notification_messages_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
      alter table notification_messages add constraint notification_messages_key_id_foreign foreign key (key_id) references encryption_keys (id) on delete set null;
      alter table notification_messages add constraint notification_messages_method_check check (method in ('smtp', 'webhook', 'inbox'));
      alter table notification_messages add constraint notification_messages_state_check check (state in ('pending', 'leased', 'temporary_failure', 'sent', 'permanent_failure', 'inhibited', 'discarded'));

      alter table notification_attempts add constraint notification_attempts_message_id_foreign foreign key (message_id) references notification_messages (id) on delete cascade;
      alter table notification_attempts add constraint notification_attempts_outcome_check check (outcome in ('done', 'retryable', 'fatal', 'skipped', 'lost'));
    `);
  }
}
