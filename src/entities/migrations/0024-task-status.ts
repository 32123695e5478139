import { Migration } from "@mikro-orm/migrations";

/**
 * Stores the status of each task, by which lists select, and finds tasks by any part of a name with trigrams. All indexes
 * of lists are in ascending order, so that a value may come before the time in both directions.
 */
export class TaskStatuses extends Migration {
  override up(): void {
    this.addSql(`
      alter table tasks add column status text not null default 'pending';
      alter table tasks add constraint tasks_status_check
        check (status in ('pending', 'initializing', 'active', 'paused', 'error', 'unknown'));
      update tasks set status = case
          when w.latest_status in ('failed', 'canceling', 'canceled') then 'error'
          when w.latest_status in ('stopped', 'deleted') then 'paused'
          when w.latest_transition is null or w.latest_status = 'pending' and w.latest_transition = 'start' then 'pending'
          when a.id is null or a.lifecycle in ('created', 'starting') then 'initializing'
          when p.id is null then 'unknown'
          when p.health = 'initializing' then 'initializing'
          when p.health = 'unhealthy' then 'error'
          else 'active' end
        from tasks t join workspaces w on w.id = t.workspace_id
          left join task_builds s on s.task_id = t.id and not exists (
            select from task_builds later where later.task_id = s.task_id and later.build_number > s.build_number)
          left join workspace_agents a on a.id = s.agent_id
          left join workspace_apps p on p.id = s.app_id
        where t.id = tasks.id;
    `);
    this.addSql(`
      drop index tasks_owner_index;
      drop index tasks_organization_index;
      create index tasks_status_index on tasks (status, created_at, id) where deleted_at is null;
      create index tasks_owner_index on tasks (owner_id, created_at, id) include (organization_id, name, display_name) where deleted_at is null;
      create index tasks_status_owner_index on tasks (status, owner_id, created_at, id) include (organization_id) where deleted_at is null;
      create index tasks_organization_index on tasks (organization_id, created_at, id) where deleted_at is null;
      create index tasks_status_organization_index on tasks (status, organization_id, created_at, id)
        where deleted_at is null;
      create index tasks_search_index on tasks using gin (
        (lower(name) collate "C") gin_trgm_ops, (lower(display_name) collate "C") gin_trgm_ops
      ) where deleted_at is null;
    `);
  }
}
