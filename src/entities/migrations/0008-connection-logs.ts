import { Migration } from "@mikro-orm/migrations";

/** Who connected to which workspace. */
export class ConnectionLogs extends Migration {
  override up(): void {
    this.addSql(`
      create table connection_logs (
        id uuid not null,
        organization_id uuid not null,
        workspace_id uuid not null,
        workspace_name varchar(32) not null,
        workspace_owner_id uuid not null,
        agent_name varchar(32) not null,
        type text not null,
        connect_time timestamptz(3) not null,
        ip varchar(45),
        reporter uuid not null,
        event_id uuid,
        connection_id uuid,
        is_connect_reported boolean not null default false,
        disconnect_time timestamptz(3),
        disconnect_reason varchar(512),
        exit_code int,
        slug_or_port varchar(32),
        status_code smallint,
        user_id uuid,
        user_agent varchar(512),
        primary key (id)
      );
      create unique index connection_logs_session_unique on connection_logs (connection_id, workspace_id, agent_name) where connection_id is not null;
      create unique index connection_logs_event_unique on connection_logs (reporter, event_id) where event_id is not null;
      create index connection_logs_time_index on connection_logs (connect_time desc, id desc);
      create index connection_logs_organization_index on connection_logs (organization_id, connect_time desc, id desc);
      create index connection_logs_type_index on connection_logs (type, connect_time desc, id desc);
      create index connection_logs_organization_type_index on connection_logs (organization_id, type, connect_time desc, id desc);
      create index connection_logs_workspace_index on connection_logs (workspace_id, connect_time desc, id desc);
      create index connection_logs_owner_index on connection_logs (workspace_owner_id, connect_time desc, id desc);
      create index connection_logs_user_index on connection_logs (user_id, connect_time desc, id desc) where user_id is not null;
      create index connection_logs_ongoing_index on connection_logs (connect_time desc, id desc) where disconnect_time is null and connection_id is not null;
      create index connection_logs_organization_ongoing_index on connection_logs (organization_id, connect_time desc, id desc) where disconnect_time is null and connection_id is not null;
      alter table connection_logs add constraint connection_logs_type_check check (type in ('ssh', 'vscode', 'jetbrains', 'reconnecting_pty', 'workspace_app', 'port_forwarding'));
    `);
  }
}
