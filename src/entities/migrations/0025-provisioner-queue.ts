import { Migration } from "@mikro-orm/migrations";

/**
 * Indexes of provisioner jobs by the daemon that holds them, of the search for templates, and of the lists of workspaces,
 * which are read in one direction of all columns. The jobs leave room in their pages: most changes of a running job then
 * write no index.
 */
export class ProvisionerQueue extends Migration {
  override up(): void {
    this.addSql(`
      drop index provisioner_jobs_pending_index;
      drop index provisioner_jobs_lease_index;
      create index provisioner_jobs_pending_index on provisioner_jobs (organization_id, priority, created_at, id) where worker_id is null and completed_at is null;
      create index provisioner_jobs_held_index on provisioner_jobs (worker_id) where worker_id is not null and completed_at is null;
      alter table provisioner_jobs set (fillfactor = 80);
      create index templates_search_index on templates using gin ((lower(name) collate "C") gin_trgm_ops, (lower(display_name) collate "C") gin_trgm_ops) where deleted_at is null;
      drop index workspaces_owner_used_index;
      create index workspaces_owner_used_index on workspaces (owner_id, last_used_at, id) where deleted_at is null;
      drop index workspaces_used_index;
      create index workspaces_used_index on workspaces (organization_id, last_used_at, id) where deleted_at is null;
      drop index workspaces_status_index;
      create index workspaces_status_index on workspaces (latest_status, last_used_at, id) where deleted_at is null;
      drop index workspaces_template_index;
      create index workspaces_template_index on workspaces (template_id, last_used_at, id) where deleted_at is null;
      create index workspaces_organization_status_index on workspaces (organization_id, latest_status, last_used_at, id) where deleted_at is null;
    `);
  }
}
