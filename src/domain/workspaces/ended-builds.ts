import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import type { JobRow } from "../provisioners/jobs.js";
import type { BuildReason } from "./builds.js";
import type { WorkspaceTransition } from "./status.js";

/** A build that has ended, of a locked workspace. */
export interface EndedBuild {
  workspaceId: string;
  workspaceName: string;
  organizationId: string;
  ownerId: string;
  prebuiltPresetId: string | null;
  transition: WorkspaceTransition;
  reason: BuildReason;
  initiatorId: string;
  initiatorName: string;
  templateId: string;
  templateName: string;
  versionName: string;
  /** Seconds; 0 sets no limit. */
  ttl: number;
  /** Days of the week, 0 is Sunday. */
  autostopDays: number[];
  /** The own quiet hours of the owner. */
  schedule: string | null;
}

const lock = statement<EndedBuild>(`
  select w.id as "workspaceId", w.name as "workspaceName", w.organization_id as "organizationId",
    w.owner_id as "ownerId", w.prebuilt_preset_id as "prebuiltPresetId", b.transition, b.reason,
    b.initiator_id as "initiatorId", u.username as "initiatorName", t.id as "templateId", t.name as "templateName",
    v.name as "versionName", coalesce(w.ttl, t.default_ttl) as ttl, t.autostop_days as "autostopDays",
    (select schedule from user_quiet_hours q where q.user_id = w.owner_id) as schedule
  from workspace_builds b join workspaces w on w.id = b.workspace_id join templates t on t.id = w.template_id
    join template_versions v on v.id = b.version_id join users u on u.id = b.initiator_id
  where b.id = $1 for no key update of w`);

/** Reads the build of a job that has ended, and locks its workspace until the transaction ends. */
export const lockEndedBuild = async (ctx: Context, { workspaceBuildId }: JobRow): Promise<EndedBuild> =>
  (await ctx.row(lock, workspaceBuildId))!;
