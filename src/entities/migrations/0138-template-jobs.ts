import { Migration } from "@mikro-orm/migrations";

/** Jobs of templates are found among the many builds of workspaces. */
export class TemplateJobs extends Migration {
  override up(): void {
    this.addSql(`
      create index provisioner_jobs_type_index on provisioner_jobs (organization_id, type, created_at, id)
        where workspace_build_id is null;
    `);
  }
}
