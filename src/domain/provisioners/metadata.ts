import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";

/** What a job is about, by name. */
export interface JobMetadata {
  templateId: string | null;
  templateName: string;
  templateDisplayName: string;
  templateIcon: string;
  templateVersionName: string;
  /** Null, as are the next two, unless the job is a build. */
  workspaceId: string | null;
  workspaceName: string | null;
  workspaceBuildTransition: "start" | "stop" | "delete" | null;
}

const metadataOfIds = statement<JobMetadata & { id: string }>(`
  select j.id, t.id as "templateId", coalesce(t.name, '') as "templateName",
    coalesce(t.display_name, '') as "templateDisplayName", coalesce(t.icon, '') as "templateIcon",
    coalesce(v.name, '') as "templateVersionName", w.id as "workspaceId", w.name as "workspaceName",
    b.transition as "workspaceBuildTransition"
  from provisioner_jobs j
    left join workspace_builds b on b.job_id = j.id left join workspaces w on w.id = b.workspace_id
    left join template_versions v on v.id = coalesce(b.version_id, j.version_id)
    left join templates t on t.id = v.template_id
  where j.id = any($1::uuid[])`);

/** Batch read of what jobs are about, for `ctx.load`. */
export async function jobMetadataOf(ctx: Context, jobIds: readonly string[]): Promise<JobMetadata[]> {
  const metadata = new Map((await ctx.rows(metadataOfIds, jobIds)).map((each) => [each.id, each]));
  return jobIds.map((id) => metadata.get(id)!);
}
