import { Migration } from "@mikro-orm/migrations";

/** Proxies for applications, and the processes that report for them. */
export class WorkspaceProxies extends Migration {
  override up(): void {
    this.addSql(`
      create table workspace_proxies (
        id uuid not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        name varchar(32) not null,
        display_name varchar(64) not null default '',
        icon varchar(2048) not null default '',
        token_hash bytea not null,
        access_url varchar(2048) not null default '',
        wildcard_hostname varchar(255) not null default '',
        derp_enabled boolean not null default true,
        derp_only boolean not null default false,
        version varchar(64) not null default '',
        registration int not null default 0,
        check_due_at timestamptz(3),
        status text not null default 'unregistered',
        errors text[] not null default '{}',
        warnings text[] not null default '{}',
        checked_at timestamptz(3),
        deleted_at timestamptz(3),
        primary key (id)
      );
      create unique index workspace_proxies_name_unique on workspace_proxies (lower(name)) where deleted_at is null;
      alter table workspace_proxies add constraint workspace_proxies_token_unique unique (token_hash);
      alter table workspace_proxies add constraint workspace_proxies_status_check check (status in ('unregistered', 'ok', 'unhealthy', 'unreachable'));

      create table workspace_proxy_replicas (
        proxy_id uuid not null,
        id uuid not null,
        hostname varchar(255) not null,
        version varchar(64) not null,
        created_at timestamptz(3) not null,
        last_seen_at timestamptz(3) not null,
        primary key (proxy_id, id)
      );
      create index workspace_proxy_replicas_seen_index on workspace_proxy_replicas (last_seen_at);
      alter table workspace_proxy_replicas add constraint workspace_proxy_replicas_proxy_id_foreign foreign key (proxy_id) references workspace_proxies (id) on delete cascade;
    `);
  }
}
