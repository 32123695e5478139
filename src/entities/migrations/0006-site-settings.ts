import { Migration } from "@mikro-orm/migrations";

/** Settings of the whole deployment; workspaces with their agents and apps. */
export class SiteSettings extends Migration {
  override up(): void {
    this.addSql(`
      create table site_settings (
        key varchar(32) not null,
        value jsonb not null,
        former jsonb,
        primary key (key)
      );

      create table workspaces (
        id uuid not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        organization_id uuid not null,
        owner_id uuid not null,
        name varchar(32) not null,
        deleted_at timestamptz(3),
        primary key (id)
      );
      create index workspaces_organization_index on workspaces (organization_id);
      create unique index workspaces_name_unique on workspaces (owner_id, lower(name)) where deleted_at is null;
      alter table workspaces add constraint workspaces_organization_id_foreign foreign key (organization_id) references organizations (id);
      alter table workspaces add constraint workspaces_owner_id_foreign foreign key (owner_id) references users (id);

      create table workspace_agents (
        id uuid not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        workspace_id uuid not null,
        name varchar(32) not null,
        token_hash bytea not null,
        token_ended_at timestamptz(3),
        primary key (id)
      );
      create index workspace_agents_workspace_index on workspace_agents (workspace_id);
      alter table workspace_agents add constraint workspace_agents_token_unique unique (token_hash);
      create unique index workspace_agents_name_unique on workspace_agents (workspace_id, name) where token_ended_at is null;
      alter table workspace_agents add constraint workspace_agents_workspace_id_foreign foreign key (workspace_id) references workspaces (id) on delete cascade;

      create table workspace_apps (
        id uuid not null,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        agent_id uuid not null,
        slug varchar(32) not null,
        url varchar(2048) not null default '',
        sharing_level text not null default 'owner',
        primary key (id)
      );
      alter table workspace_apps add constraint workspace_apps_slug_unique unique (agent_id, slug);
      alter table workspace_apps add constraint workspace_apps_sharing_level_check check (sharing_level in ('owner', 'authenticated', 'organization', 'public'));
      alter table workspace_apps add constraint workspace_apps_agent_id_foreign foreign key (agent_id) references workspace_agents (id) on delete cascade;
    `);
  }
}
