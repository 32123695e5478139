import { Migration } from "@mikro-orm/migrations";

/** Templates, provisioner jobs and daemons, builds of workspaces, what agents report, and tasks. */
export class Provisioning extends Migration {
  override up(): void {
    this.addSql(`
      create table template_documents (
        id uuid not null,
        organization_id uuid not null,
        sha256 bytea not null,
        content jsonb not null,
        created_at timestamptz(3) not null,
        primary key (id)
      );
      alter table template_documents add constraint template_documents_hash_unique unique (organization_id, sha256);

      create table templates (
        id uuid not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        organization_id uuid not null,
        name varchar(32) not null,
        display_name varchar(64) not null default '',
        description varchar(1000) not null default '',
        icon varchar(2048) not null default '',
        creator_id uuid not null,
        active_version_id uuid,
        version_count int not null default 0,
        default_ttl int not null default 0,
        activity_bump int not null default 3600,
        autostop_days int[] not null default '{}',
        dormant_after int not null default 0,
        delete_after int not null default 0,
        allow_user_cancel boolean not null default true,
        require_active_version boolean not null default false,
        deleted_at timestamptz(3),
        primary key (id)
      );
      create unique index templates_name_unique on templates (organization_id, lower(name)) where deleted_at is null;
      create index templates_page_index on templates (lower(name) collate "C", id) where deleted_at is null;
      create index templates_created_index on templates (created_at, id) where deleted_at is null;

      create table template_versions (
        id uuid not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        template_id uuid not null,
        name varchar(64) not null,
        document_id uuid not null,
        creator_id uuid not null,
        job_id uuid not null,
        is_imported boolean not null default false,
        activates boolean not null default false,
        archived_at timestamptz(3),
        variables_ciphertext bytea,
        variables_nonce bytea,
        variables_key_id varchar(64),
        task_agent varchar(32),
        task_app varchar(32),
        has_external_agent boolean not null default false,
        primary key (id)
      );
      create index template_versions_document_index on template_versions (document_id);
      create index template_versions_page_index on template_versions (template_id, created_at, id);
      create index template_versions_key_index on template_versions (variables_key_id, id) where variables_key_id is not null;
      alter table template_versions add constraint template_versions_name_unique unique (template_id, name);

      create table template_presets (
        id uuid not null,
        created_at timestamptz(3) not null,
        version_id uuid not null,
        name varchar(64) not null,
        display_name varchar(64) not null default '',
        description varchar(1000) not null default '',
        icon varchar(2048) not null default '',
        is_default boolean not null default false,
        parameters jsonb not null,
        instances int not null default 0,
        prebuild_ttl int,
        last_invalidated_at timestamptz(3),
        prebuild_status text not null default 'healthy',
        prebuild_failures int not null default 0,
        primary key (id)
      );
      alter table template_presets add constraint template_presets_name_unique unique (version_id, name);

      create table template_acl_entries (
        id uuid not null,
        template_id uuid not null,
        user_id uuid,
        group_id uuid,
        role text not null,
        created_at timestamptz(3) not null,
        primary key (id)
      );
      create index template_acl_entries_user_index on template_acl_entries (user_id);
      create index template_acl_entries_group_index on template_acl_entries (group_id);
      create unique index template_acl_entries_user_unique on template_acl_entries (template_id, user_id) where user_id is not null;
      create unique index template_acl_entries_group_unique on template_acl_entries (template_id, group_id) where group_id is not null;

      create table provisioner_keys (
        id uuid not null,
        organization_id uuid not null,
        name varchar(64) not null,
        secret_hash bytea not null,
        tags jsonb not null,
        creator_id uuid not null,
        created_at timestamptz(3) not null,
        primary key (id)
      );
      alter table provisioner_keys add constraint provisioner_keys_secret_unique unique (secret_hash);
      create unique index provisioner_keys_name_unique on provisioner_keys (organization_id, lower(name));

      create table provisioner_daemons (
        id uuid not null,
        created_at timestamptz(3) not null,
        organization_id uuid not null,
        name varchar(64) not null,
        owner_tag varchar(36) not null default '',
        key_id uuid,
        user_id uuid,
        provisioners text[] not null default '{}',
        tags jsonb not null,
        version varchar(64) not null default '',
        api_version varchar(16) not null default '1.0',
        last_seen_at timestamptz(3) not null,
        connection_id uuid,
        primary key (id)
      );
      create index provisioner_daemons_key_index on provisioner_daemons (key_id);
      create index provisioner_daemons_user_index on provisioner_daemons (user_id);
      create index provisioner_daemons_seen_index on provisioner_daemons (last_seen_at);
      create unique index provisioner_daemons_name_unique on provisioner_daemons (organization_id, lower(name), owner_tag);

      create table provisioner_jobs (
        id uuid not null,
        created_at timestamptz(3) not null,
        organization_id uuid not null,
        type text not null,
        status text not null default 'pending',
        provisioner varchar(32) not null,
        tags jsonb not null,
        priority smallint not null default 0,
        initiator_id uuid not null,
        document_id uuid not null,
        version_id uuid,
        workspace_build_id uuid,
        parameters jsonb,
        pinned_daemon_id uuid,
        worker_id uuid,
        worker_name varchar(64) not null default '',
        lease_hash bytea,
        lease_expires_at timestamptz(3),
        refused_by uuid,
        started_at timestamptz(3),
        canceled_at timestamptz(3),
        completed_at timestamptz(3),
        error varchar(4096) not null default '',
        error_code text not null default '',
        log_sequence int not null default 0,
        log_bytes int not null default 0,
        logs_overflowed boolean not null default false,
        resources_hash bytea,
        primary key (id)
      );
      create index provisioner_jobs_version_index on provisioner_jobs (version_id);
      create index provisioner_jobs_pending_index on provisioner_jobs (organization_id, priority, created_at, id) where status = 'pending';
      create index provisioner_jobs_lease_index on provisioner_jobs (lease_expires_at) where status in ('pending', 'running', 'canceling');
      create index provisioner_jobs_worker_index on provisioner_jobs (worker_id, completed_at desc, id desc);
      create index provisioner_jobs_page_index on provisioner_jobs (organization_id, created_at, id);

      create table provisioner_job_logs (
        job_id uuid not null,
        sequence int not null,
        id uuid not null,
        created_at timestamptz(3) not null,
        level text not null,
        source text not null,
        stage varchar(128) not null default '',
        output text not null,
        primary key (job_id, sequence)
      );

      create table tasks (
        id uuid not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        owner_id uuid not null,
        organization_id uuid not null,
        name varchar(32) not null,
        display_name varchar(64) not null default '',
        initial_prompt text not null,
        version_id uuid not null,
        preset_id uuid,
        workspace_id uuid not null,
        input_seq int not null default 0,
        delivering_until timestamptz(3),
        deleted_at timestamptz(3),
        primary key (id)
      );
      create index tasks_version_index on tasks (version_id);
      create index tasks_page_index on tasks (created_at desc, id desc) where deleted_at is null;
      create index tasks_owner_index on tasks (owner_id, created_at desc, id desc) where deleted_at is null;
      create index tasks_organization_index on tasks (organization_id, created_at desc, id desc) where deleted_at is null;
      alter table tasks add constraint tasks_workspace_unique unique (workspace_id);
      create unique index tasks_name_unique on tasks (owner_id, lower(name)) where deleted_at is null;

      create table task_messages (
        id uuid not null,
        task_id uuid not null,
        seq int not null,
        sender_id uuid not null,
        content text not null,
        state text not null,
        attempts int not null default 0,
        last_error varchar(512) not null default '',
        newest_before bigint,
        next_attempt_at timestamptz(3) not null,
        created_at timestamptz(3) not null,
        delivered_at timestamptz(3),
        finished_at timestamptz(3),
        primary key (id)
      );
      create index task_messages_open_index on task_messages (task_id, seq) where state in ('queued', 'delivering');
      create index task_messages_finished_index on task_messages (finished_at) where finished_at is not null;
      alter table task_messages add constraint task_messages_seq_unique unique (task_id, seq);

      create table task_log_snapshots (
        task_id uuid not null,
        build_number int not null,
        format varchar(32) not null,
        messages jsonb not null,
        captured_at timestamptz(3) not null,
        primary key (task_id)
      );

      create table workspace_acl_entries (
        id uuid not null,
        workspace_id uuid not null,
        user_id uuid,
        group_id uuid,
        role text not null,
        created_at timestamptz(3) not null,
        primary key (id)
      );
      create index workspace_acl_entries_user_index on workspace_acl_entries (user_id);
      create index workspace_acl_entries_group_index on workspace_acl_entries (group_id);
      create unique index workspace_acl_entries_user_unique on workspace_acl_entries (workspace_id, user_id) where user_id is not null;
      create unique index workspace_acl_entries_group_unique on workspace_acl_entries (workspace_id, group_id) where group_id is not null;

      create table workspace_builds (
        id uuid not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        workspace_id uuid not null,
        build_number int not null,
        version_id uuid not null,
        preset_id uuid,
        transition text not null,
        reason text not null,
        initiator_id uuid not null,
        job_id uuid not null,
        is_claim boolean not null default false,
        daily_cost int not null default 0,
        deadline timestamptz(3),
        max_deadline timestamptz(3),
        parameters jsonb not null,
        state jsonb,
        primary key (id)
      );
      create index workspace_builds_version_index on workspace_builds (version_id);
      create index workspace_builds_page_index on workspace_builds (workspace_id, created_at, id);
      alter table workspace_builds add constraint workspace_builds_job_unique unique (job_id);
      alter table workspace_builds add constraint workspace_builds_number_unique unique (workspace_id, build_number);

      create table workspace_resources (
        id uuid not null,
        created_at timestamptz(3) not null,
        job_id uuid not null,
        transition text not null,
        position int not null,
        name varchar(64) not null,
        type varchar(64) not null default '',
        icon varchar(2048) not null default '',
        hide boolean not null default false,
        daily_cost int not null default 0,
        metadata jsonb not null,
        primary key (id)
      );
      alter table workspace_resources add constraint workspace_resources_name_unique unique (job_id, name);

      create table workspace_app_statuses (
        id uuid not null,
        created_at timestamptz(3) not null,
        workspace_id uuid not null,
        agent_id uuid not null,
        app_id uuid not null,
        state text not null,
        message varchar(160) not null default '',
        uri varchar(2048) not null default '',
        primary key (id)
      );
      create index workspace_app_statuses_agent_index on workspace_app_statuses (agent_id);
      create index workspace_app_statuses_app_index on workspace_app_statuses (app_id, created_at, id);
      create index workspace_app_statuses_workspace_index on workspace_app_statuses (workspace_id, created_at, id);

      create table workspace_agent_logs (
        agent_id uuid not null,
        sequence int not null,
        id uuid not null,
        created_at timestamptz(3) not null,
        level text not null,
        log_source_id uuid not null,
        output text not null,
        primary key (agent_id, sequence)
      );

      create table task_builds (
        task_id uuid not null,
        build_number int not null,
        agent_id uuid,
        app_id uuid,
        primary key (task_id, build_number)
      );
      create index task_builds_agent_index on task_builds (agent_id);
      create index task_builds_app_index on task_builds (app_id);

      create table workspace_scripts (
        id uuid not null,
        created_at timestamptz(3) not null,
        agent_id uuid not null,
        position int not null,
        display_name varchar(64) not null,
        script text not null,
        cron varchar(128) not null default '',
        log_path varchar(4096) not null default '',
        log_source_id uuid not null,
        run_on_start boolean not null default false,
        run_on_stop boolean not null default false,
        start_blocks_login boolean not null default false,
        timeout int not null default 0,
        exit_code int,
        status text,
        started_at timestamptz(3),
        ended_at timestamptz(3),
        primary key (id)
      );
      create index workspace_scripts_agent_index on workspace_scripts (agent_id, position);

      alter table workspaces add template_id uuid not null, add prebuilt_preset_id uuid null, add ttl int null, add last_used_at timestamptz(3) not null default now(), add dormant_at timestamptz(3) null, add pinned_daemon_id uuid null, add inject_user_secrets boolean not null default true, add latest_build_id uuid null, add latest_transition text null, add latest_status text not null default 'pending', add deadline timestamptz(3) null, add autobuild_after timestamptz(3) null;
      alter table workspaces add constraint workspaces_template_id_foreign foreign key (template_id) references templates (id);
      alter table workspaces add constraint workspaces_prebuilt_preset_id_foreign foreign key (prebuilt_preset_id) references template_presets (id) on delete set null;
      alter table workspaces add constraint workspaces_pinned_daemon_id_foreign foreign key (pinned_daemon_id) references provisioner_daemons (id) on delete set null;
      create index workspaces_prebuilt_index on workspaces (prebuilt_preset_id);
      create index workspaces_owner_used_index on workspaces (owner_id, last_used_at desc, id desc) where deleted_at is null;
      create index workspaces_used_index on workspaces (organization_id, last_used_at desc, id desc) where deleted_at is null;
      create index workspaces_status_index on workspaces (latest_status, last_used_at desc, id desc) where deleted_at is null;
      create index workspaces_template_index on workspaces (template_id, last_used_at desc, id desc) where deleted_at is null;
      create index workspaces_list_index on workspaces (last_used_at desc, id desc) where deleted_at is null;
      create index workspaces_dormant_index on workspaces (dormant_at) where dormant_at is not null and deleted_at is null;
      create index workspaces_search_index on workspaces using gin ((lower(name) collate "C") gin_trgm_ops) where deleted_at is null;
      create index workspaces_deadline_index on workspaces (deadline) where deadline is not null and deleted_at is null;
      alter table workspaces add constraint workspaces_latest_transition_check check (latest_transition in ('start', 'stop', 'delete'));
      alter table workspaces add constraint workspaces_latest_status_check check (latest_status in ('pending', 'starting', 'running', 'stopping', 'stopped', 'failed', 'canceling', 'canceled', 'deleting', 'deleted'));

      alter table workspace_agents add build_id uuid not null, add resource_id uuid not null, add token_ciphertext bytea null, add token_nonce bytea null, add token_key_id varchar(64) null, add operating_system text not null default 'linux', add architecture text not null default 'amd64', add directory varchar(4096) not null default '', add expanded_directory varchar(4096) not null default '', add command jsonb not null default '[]', add restart text not null default 'never', add is_external boolean not null default false, add environment jsonb not null default '{}', add connection_timeout int not null default 120, add startup_script_behavior text not null default 'non-blocking', add troubleshooting_url varchar(2048) not null default '', add display_apps text[] not null default '{}', add version varchar(64) not null default '', add api_version varchar(16) not null default '', add subsystems text[] not null default '{}', add lifecycle text not null default 'created', add started_at timestamptz(3) null, add ready_at timestamptz(3) null, add first_connected_at timestamptz(3) null, add last_connected_at timestamptz(3) null, add disconnected_at timestamptz(3) null, add log_source_id uuid not null default gen_random_uuid(), add log_sequence int not null default 0, add logs_length int not null default 0, add logs_overflowed boolean not null default false, add usage jsonb null;
      alter table workspace_agents add constraint workspace_agents_build_id_foreign foreign key (build_id) references workspace_builds (id) on delete cascade;
      alter table workspace_agents add constraint workspace_agents_resource_id_foreign foreign key (resource_id) references workspace_resources (id) on delete cascade;
      alter table workspace_agents add constraint workspace_agents_token_key_id_foreign foreign key (token_key_id) references encryption_keys (id) on delete no action;
      create index workspace_agents_build_index on workspace_agents (build_id);
      create index workspace_agents_resource_index on workspace_agents (resource_id);
      create index workspace_agents_key_index on workspace_agents (token_key_id, id) where token_key_id is not null;
      alter table workspace_agents add constraint workspace_agents_operating_system_check check (operating_system in ('linux', 'darwin', 'windows'));
      alter table workspace_agents add constraint workspace_agents_architecture_check check (architecture in ('amd64', 'arm64', 'armv7'));
      alter table workspace_agents add constraint workspace_agents_restart_check check (restart in ('never', 'on_failure'));
      alter table workspace_agents add constraint workspace_agents_startup_script_behavior_check check (startup_script_behavior in ('non-blocking', 'blocking'));
      alter table workspace_agents add constraint workspace_agents_lifecycle_check check (lifecycle in ('created', 'starting', 'start_timeout', 'start_error', 'ready', 'shutting_down', 'shutdown_timeout', 'shutdown_error', 'off'));

      alter table workspace_apps add position int not null default 0, add display_name varchar(64) not null default '', add icon varchar(2048) not null default '', add command varchar(4096) not null default '', add is_external boolean not null default false, add group_name varchar(64) not null default '', add is_hidden boolean not null default false, add open_in text not null default 'slim-window', add is_on_subdomain boolean not null default false, add tooltip varchar(2048) not null default '', add health text not null default 'disabled', add healthcheck_url varchar(2048) not null default '', add healthcheck_interval int not null default 5, add healthcheck_threshold int not null default 3;
      alter table workspace_apps add constraint workspace_apps_open_in_check check (open_in in ('slim-window', 'tab'));
      alter table workspace_apps add constraint workspace_apps_health_check check (health in ('disabled', 'initializing', 'healthy', 'unhealthy'));

      alter table template_documents add constraint template_documents_organization_id_foreign foreign key (organization_id) references organizations (id);

      alter table templates add constraint templates_organization_id_foreign foreign key (organization_id) references organizations (id);
      alter table templates add constraint templates_creator_id_foreign foreign key (creator_id) references users (id);

      alter table template_versions add constraint template_versions_template_id_foreign foreign key (template_id) references templates (id);
      alter table template_versions add constraint template_versions_document_id_foreign foreign key (document_id) references template_documents (id);
      alter table template_versions add constraint template_versions_creator_id_foreign foreign key (creator_id) references users (id);
      alter table template_versions add constraint template_versions_variables_key_id_foreign foreign key (variables_key_id) references encryption_keys (id) on delete no action;

      alter table template_presets add constraint template_presets_version_id_foreign foreign key (version_id) references template_versions (id) on delete cascade;
      alter table template_presets add constraint template_presets_prebuild_status_check check (prebuild_status in ('healthy', 'hard_limited'));

      alter table template_acl_entries add constraint template_acl_entries_template_id_foreign foreign key (template_id) references templates (id) on delete cascade;
      alter table template_acl_entries add constraint template_acl_entries_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
      alter table template_acl_entries add constraint template_acl_entries_group_id_foreign foreign key (group_id) references groups (id) on delete cascade;
      alter table template_acl_entries add constraint template_acl_entries_subject_check check (num_nonnulls(user_id, group_id) = 1);
      alter table template_acl_entries add constraint template_acl_entries_role_check check (role in ('use', 'admin'));

      alter table provisioner_keys add constraint provisioner_keys_organization_id_foreign foreign key (organization_id) references organizations (id) on delete cascade;
      alter table provisioner_keys add constraint provisioner_keys_creator_id_foreign foreign key (creator_id) references users (id);

      alter table provisioner_daemons add constraint provisioner_daemons_organization_id_foreign foreign key (organization_id) references organizations (id) on delete cascade;
      alter table provisioner_daemons add constraint provisioner_daemons_key_id_foreign foreign key (key_id) references provisioner_keys (id) on delete cascade;
      alter table provisioner_daemons add constraint provisioner_daemons_user_id_foreign foreign key (user_id) references users (id) on delete cascade;

      alter table provisioner_jobs add constraint provisioner_jobs_organization_id_foreign foreign key (organization_id) references organizations (id);
      alter table provisioner_jobs add constraint provisioner_jobs_initiator_id_foreign foreign key (initiator_id) references users (id);
      alter table provisioner_jobs add constraint provisioner_jobs_document_id_foreign foreign key (document_id) references template_documents (id);
      alter table provisioner_jobs add constraint provisioner_jobs_version_id_foreign foreign key (version_id) references template_versions (id) on delete set null;
      alter table provisioner_jobs add constraint provisioner_jobs_pinned_daemon_id_foreign foreign key (pinned_daemon_id) references provisioner_daemons (id) on delete set null;
      alter table provisioner_jobs add constraint provisioner_jobs_worker_id_foreign foreign key (worker_id) references provisioner_daemons (id) on delete set null;
      alter table provisioner_jobs add constraint provisioner_jobs_type_check check (type in ('template_version_import', 'workspace_build', 'template_version_dry_run'));
      alter table provisioner_jobs add constraint provisioner_jobs_status_check check (status in ('pending', 'running', 'canceling', 'succeeded', 'failed', 'canceled'));
      alter table provisioner_jobs add constraint provisioner_jobs_error_code_check check (error_code in ('', 'REQUIRED_TEMPLATE_VARIABLES', 'INSUFFICIENT_QUOTA'));

      alter table provisioner_job_logs add constraint provisioner_job_logs_job_id_foreign foreign key (job_id) references provisioner_jobs (id) on delete cascade;
      alter table provisioner_job_logs add constraint provisioner_job_logs_level_check check (level in ('trace', 'debug', 'info', 'warn', 'error'));
      alter table provisioner_job_logs add constraint provisioner_job_logs_source_check check (source in ('provisioner_daemon', 'provisioner'));

      alter table tasks add constraint tasks_owner_id_foreign foreign key (owner_id) references users (id);
      alter table tasks add constraint tasks_organization_id_foreign foreign key (organization_id) references organizations (id);
      alter table tasks add constraint tasks_version_id_foreign foreign key (version_id) references template_versions (id);
      alter table tasks add constraint tasks_preset_id_foreign foreign key (preset_id) references template_presets (id) on delete set null;
      alter table tasks add constraint tasks_workspace_id_foreign foreign key (workspace_id) references workspaces (id) on delete cascade;

      alter table task_messages add constraint task_messages_task_id_foreign foreign key (task_id) references tasks (id) on delete cascade;
      alter table task_messages add constraint task_messages_sender_id_foreign foreign key (sender_id) references users (id);
      alter table task_messages add constraint task_messages_state_check check (state in ('queued', 'delivering', 'delivered', 'failed', 'unconfirmed', 'expired', 'canceled'));

      alter table task_log_snapshots add constraint task_log_snapshots_task_id_foreign foreign key (task_id) references tasks (id) on update cascade on delete cascade;

      alter table workspace_acl_entries add constraint workspace_acl_entries_workspace_id_foreign foreign key (workspace_id) references workspaces (id) on delete cascade;
      alter table workspace_acl_entries add constraint workspace_acl_entries_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
      alter table workspace_acl_entries add constraint workspace_acl_entries_group_id_foreign foreign key (group_id) references groups (id) on delete cascade;
      alter table workspace_acl_entries add constraint workspace_acl_entries_subject_check check (num_nonnulls(user_id, group_id) = 1);
      alter table workspace_acl_entries add constraint workspace_acl_entries_role_check check (role in ('use', 'admin'));

      alter table workspace_builds add constraint workspace_builds_workspace_id_foreign foreign key (workspace_id) references workspaces (id) on delete cascade;
      alter table workspace_builds add constraint workspace_builds_version_id_foreign foreign key (version_id) references template_versions (id);
      alter table workspace_builds add constraint workspace_builds_preset_id_foreign foreign key (preset_id) references template_presets (id) on delete set null;
      alter table workspace_builds add constraint workspace_builds_initiator_id_foreign foreign key (initiator_id) references users (id);
      alter table workspace_builds add constraint workspace_builds_job_id_foreign foreign key (job_id) references provisioner_jobs (id);
      alter table workspace_builds add constraint workspace_builds_transition_check check (transition in ('start', 'stop', 'delete'));
      alter table workspace_builds add constraint workspace_builds_reason_check check (reason in ('initiator', 'autostart', 'autostop', 'dormancy', 'autodelete', 'task_manual_pause', 'task_auto_pause', 'task_resume', 'dashboard', 'cli', 'ssh_connection', 'vscode_connection', 'jetbrains_connection'));

      alter table workspace_resources add constraint workspace_resources_job_id_foreign foreign key (job_id) references provisioner_jobs (id) on delete cascade;
      alter table workspace_resources add constraint workspace_resources_transition_check check (transition in ('start', 'stop', 'delete'));

      alter table workspace_app_statuses add constraint workspace_app_statuses_workspace_id_foreign foreign key (workspace_id) references workspaces (id) on delete cascade;
      alter table workspace_app_statuses add constraint workspace_app_statuses_agent_id_foreign foreign key (agent_id) references workspace_agents (id) on delete cascade;
      alter table workspace_app_statuses add constraint workspace_app_statuses_app_id_foreign foreign key (app_id) references workspace_apps (id) on delete cascade;
      alter table workspace_app_statuses add constraint workspace_app_statuses_state_check check (state in ('working', 'idle', 'complete', 'failed'));

      alter table workspace_agent_logs add constraint workspace_agent_logs_agent_id_foreign foreign key (agent_id) references workspace_agents (id) on delete cascade;
      alter table workspace_agent_logs add constraint workspace_agent_logs_level_check check (level in ('trace', 'debug', 'info', 'warn', 'error'));

      alter table task_builds add constraint task_builds_task_id_foreign foreign key (task_id) references tasks (id) on delete cascade;
      alter table task_builds add constraint task_builds_agent_id_foreign foreign key (agent_id) references workspace_agents (id) on delete set null;
      alter table task_builds add constraint task_builds_app_id_foreign foreign key (app_id) references workspace_apps (id) on delete set null;

      alter table workspace_scripts add constraint workspace_scripts_agent_id_foreign foreign key (agent_id) references workspace_agents (id) on delete cascade;
      alter table workspace_scripts add constraint workspace_scripts_status_check check (status in ('ok', 'exit_failure', 'timed_out', 'pipes_left_open'));
      alter table users add column ai_seat_at timestamptz(3);
    `);
  }
}
