import { Migration } from "@mikro-orm/migrations";

/** Identity, groups, inbox and audit. */
export class Foundation extends Migration {
  override up(): void {
    this.addSql(`
      create table audit_events (
        id uuid not null,
        time timestamptz(3) not null,
        actor_id uuid,
        actor_kind varchar(16) not null,
        api_key_id varchar(16),
        action varchar(16) not null,
        resource_type varchar(32) not null,
        resource_id varchar(64),
        resource_label varchar(254),
        organization_id uuid,
        diff jsonb not null,
        request_id varchar(128) not null,
        ip varchar(45),
        user_agent varchar(512),
        primary key (id)
      );
      create index audit_events_time_index on audit_events (time, id);
      create index audit_events_organization_index on audit_events (organization_id, time);
      create index audit_events_resource_index on audit_events (resource_type, resource_id, time);
      create index audit_events_actor_index on audit_events (actor_id, time);

      create table deployment (
        singleton boolean not null default true,
        id uuid not null,
        created_at timestamptz(3) not null,
        primary key (singleton)
      );

      create table organizations (
        id uuid not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        name varchar(32) not null,
        display_name varchar(64) not null default '',
        description varchar(1000) not null default '',
        icon varchar(2048) not null default '',
        is_default boolean not null default false,
        deleted_at timestamptz(3),
        primary key (id)
      );
      create unique index organizations_name_unique on organizations (lower(name)) where deleted_at is null;
      create unique index organizations_default_unique on organizations (is_default) where is_default;

      create table groups (
        id uuid not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        organization_id uuid not null,
        name varchar(36) not null,
        display_name varchar(64) not null default '',
        avatar_url varchar(2048) not null default '',
        quota_allowance int not null default 0,
        source text not null default 'user',
        external_id text,
        primary key (id)
      );
      create index groups_name_index on groups (name);
      alter table groups add constraint groups_name_unique unique (organization_id, name);

      create table group_ai_budgets (
        group_id uuid not null,
        spend_limit_micros bigint not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        primary key (group_id)
      );

      create table users (
        id uuid not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        email varchar(254) not null,
        username varchar(32) not null,
        name varchar(128) not null default '',
        avatar_url varchar(2048) not null default '',
        status text not null default 'active',
        login_type text not null,
        password_hash text,
        site_roles text[] not null default '{}',
        is_service_account boolean not null default false,
        is_system boolean not null default false,
        created_by uuid,
        last_seen_at timestamptz(3),
        deleted_at timestamptz(3),
        primary key (id)
      );
      create unique index users_email_unique on users (lower(email)) where deleted_at is null;
      create unique index users_username_unique on users (lower(username)) where deleted_at is null;

      create table organization_members (
        organization_id uuid not null,
        user_id uuid not null,
        roles text[] not null default '{}',
        created_at timestamptz(3) not null,
        primary key (organization_id, user_id)
      );
      create index organization_members_user_index on organization_members (user_id);

      create table group_members (
        group_id uuid not null,
        organization_id uuid not null,
        user_id uuid not null,
        created_at timestamptz(3) not null default now(),
        primary key (group_id, organization_id, user_id)
      );
      create index group_members_user_index on group_members (user_id, organization_id);

      create table inbox_notifications (
        id uuid not null,
        user_id uuid not null,
        seq bigint not null,
        template_id uuid not null,
        targets uuid[] not null,
        title text not null,
        content text not null,
        icon text not null,
        actions jsonb not null,
        created_at timestamptz(3) not null,
        read_at timestamptz(3),
        primary key (id)
      );
      create index inbox_notifications_page_index on inbox_notifications (user_id, created_at desc, id desc);
      create index inbox_notifications_unread_index on inbox_notifications (user_id, created_at desc, id desc) where read_at is null;
      alter table inbox_notifications add constraint inbox_notifications_seq_unique unique (user_id, seq);

      create table inbox_cursors (
        user_id uuid not null,
        last_seq bigint not null,
        unread_count int not null default 0,
        custom_sent_at timestamptz[] not null default '{}',
        primary key (user_id)
      );

      create table idempotency_keys (
        user_id uuid not null,
        key varchar(255) not null,
        request_hash bytea not null,
        created_at timestamptz(3) not null,
        primary key (user_id, key)
      );
      create index idempotency_keys_age_index on idempotency_keys (created_at);

      create table api_keys (
        id varchar(10) not null,
        secret_hash bytea not null,
        user_id uuid not null,
        kind text not null,
        name varchar(64) not null default '',
        scopes text[] not null,
        audience text,
        created_at timestamptz(3) not null,
        last_used_at timestamptz(3),
        expires_at timestamptz(3) not null,
        ip varchar(45),
        user_agent varchar(512),
        primary key (id)
      );
      create index api_keys_user_index on api_keys (user_id);
      create index api_keys_expiry_index on api_keys (expires_at);
      create unique index api_keys_token_name_unique on api_keys (user_id, lower(name)) where kind = 'token';

      create table ai_usage (
        id uuid not null,
        user_id uuid not null,
        organization_id uuid not null,
        task_id uuid,
        amount_micros bigint not null,
        at timestamptz(3) not null,
        primary key (id)
      );
      create index ai_usage_user_index on ai_usage (user_id, organization_id, at);
      alter table deployment add constraint deployment_is_one check (singleton);
      alter table groups add constraint groups_organization_id_foreign foreign key (organization_id) references organizations (id) on delete cascade;
      alter table groups add constraint groups_source_check check (source in ('user', 'oidc'));
      alter table group_ai_budgets add constraint group_ai_budgets_group_id_foreign foreign key (group_id) references groups (id) on update cascade on delete cascade;
      alter table users add constraint users_status_check check (status in ('active', 'suspended'));
      alter table users add constraint users_login_type_check check (login_type in ('password', 'oidc', 'github', 'none'));
      alter table organization_members add constraint organization_members_organization_id_foreign foreign key (organization_id) references organizations (id) on update cascade on delete cascade;
      alter table organization_members add constraint organization_members_user_id_foreign foreign key (user_id) references users (id) on update cascade on delete cascade;
      alter table group_members add constraint group_members_group_id_foreign foreign key (group_id) references groups (id) on update cascade on delete cascade;
      alter table group_members add constraint group_members_organization_id_user_id_foreign foreign key (organization_id, user_id) references organization_members (organization_id, user_id) on update cascade on delete cascade;
      alter table inbox_notifications add constraint inbox_notifications_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
      alter table inbox_cursors add constraint inbox_cursors_user_id_foreign foreign key (user_id) references users (id) on update cascade on delete cascade;
      alter table idempotency_keys add constraint idempotency_keys_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
      alter table api_keys add constraint api_keys_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
      alter table api_keys add constraint api_keys_kind_check check (kind in ('session', 'token', 'oauth', 'application'));
      alter table ai_usage add constraint ai_usage_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
      alter table ai_usage add constraint ai_usage_organization_id_foreign foreign key (organization_id) references organizations (id) on delete cascade;
`);
  }
}
