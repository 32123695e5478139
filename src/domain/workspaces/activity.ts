import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { conflict, Problems } from "../kernel/errors.js";
import { lockWorkspace, ofWorkspace, workspaceHint } from "./workspaces.js";

// Activity within a minute of the previous one writes nothing.
const note = statement<{ id: string }>(`
  with used as (
    select w.id, w.latest_build_id, case when w.deadline is not null and w.latest_status = 'running'
      then greatest(w.deadline, least(now() + make_interval(secs => t.activity_bump), b.max_deadline)) end as deadline
    from workspaces w join templates t on t.id = w.template_id left join workspace_builds b on b.id = w.latest_build_id
    where w.id = any($1::uuid[]) and w.deleted_at is null
      and (w.last_used_at < now() - interval '1 minute'
        or w.deadline < least(now() + make_interval(secs => t.activity_bump), b.max_deadline) - interval '1 minute')
    order by w.id for no key update of w skip locked
  ), build as (
    update workspace_builds b set deadline = used.deadline from used
    where b.id = used.latest_build_id and used.deadline is not null and b.deadline <> used.deadline
  )
  update workspaces w set last_used_at = now(), deadline = coalesce(used.deadline, w.deadline) from used
  where w.id = used.id returning w.id`);

/**
 * Notes that people or programs use workspaces: moves their deadlines to now plus the activity bump of the template, not
 * past the maximum, and never back. Never waits for locks: workspaces that are being changed are left alone.
 */
export async function noteActivity(ctx: Context, workspaceIds: readonly string[]): Promise<void> {
  const used = await ctx.rows(note, workspaceIds);
  ctx.publish(...used.map(({ id }) => workspaceHint(id)));
}

export interface ExtendWorkspaceDeadline {
  /** Id, or `<owner>/<name>`. */
  workspace: string;
  /** RFC 3339. */
  deadline: string;
}

interface Current {
  maxDeadline: string | null;
  now: string;
}

const currentOf = statement<Current>(
  `select max_deadline as "maxDeadline", now() as now from workspace_builds where id = $1`,
);

const extend = statement(`
  with build as (update workspace_builds set deadline = $3, updated_at = now() where id = $2)
  update workspaces set deadline = $3, updated_at = now() where id = $1`);

/**
 * Moves the deadline of a running workspace to a later time. Throws CONFLICT if it does not run or has no deadline,
 * BAD_USER_INPUT for a time that is not later, or later than its maximum. Returns the id.
 */
export async function extendWorkspaceDeadline(
  ctx: Context,
  { workspace: ref, deadline }: ExtendWorkspaceDeadline,
): Promise<string> {
  const workspace = await lockWorkspace(ctx, ref, "update");
  const { id, latestBuildId, latestStatus, deadline: old } = workspace;
  if (latestStatus !== "running") throw conflict("The workspace is not running.");
  if (old === null) throw conflict("The workspace has no deadline.");
  const { maxDeadline, now } = (await ctx.row(currentOf, latestBuildId))!;
  const problems = new Problems();
  if (deadline < old || deadline <= now) problems.add("deadline", "Must be later than the current deadline.");
  else if (maxDeadline !== null && deadline > maxDeadline) problems.add("deadline", `Must be at most ${maxDeadline}.`);
  problems.throwIfAny();
  if (deadline === old) return id;
  await ctx.row(extend, id, latestBuildId, deadline);
  ctx.audit({ action: "update", ...ofWorkspace(workspace), diff: { deadline: { old, new: deadline } } });
  ctx.publish(workspaceHint(id));
  return id;
}
