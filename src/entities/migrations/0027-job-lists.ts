import { Migration } from "@mikro-orm/migrations";

/** Indexes for the lists of provisioner jobs by their owner, their initiator, and statuses that are rare. */
export class JobLists extends Migration {
  override up(): void {
    this.addSql(`
      create index workspaces_owner_index on workspaces (owner_id);
      create index provisioner_jobs_initiator_index on provisioner_jobs (organization_id, initiator_id, created_at, id);
      create index provisioner_jobs_open_index on provisioner_jobs (organization_id, created_at, id) where completed_at is null;
      create index provisioner_jobs_failed_index on provisioner_jobs (organization_id, created_at, id) where status in ('failed', 'canceled');
    `);
  }
}
