import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { sql } from "../kernel/sql.js";
import { notify } from "../notifications/notify.js";
import { taskNotifications } from "../notifications/templates/tasks.js";
import { taskHint } from "./hints.js";
import { openStates } from "./messages.js";
import { updateTaskStatus } from "./status.js";

const addBuild = statement<{ id: string }>(`
  with task as (
    select id, owner_id from tasks where workspace_id = $1 and deleted_at is null
  ), seat as (update users set ai_seat_at = now() where id = (select owner_id from task))
  insert into task_builds (task_id, build_number) select id, $2 from task returning task_id as id`);

/** Notes that a start of a workspace begins, if it is the workspace of a task. */
export async function taskBuildStarts(ctx: Context, workspaceId: string, buildNumber: number): Promise<void> {
  const task = await ctx.row(addBuild, workspaceId, buildNumber);
  if (task) ctx.publish(taskHint(task.id));
}

const linkApp = statement<{ id: string }>(`
  update task_builds s set agent_id = a.id, app_id = p.id
  from workspace_builds b join tasks t on t.workspace_id = b.workspace_id
    join template_versions v on v.id = b.version_id
    join workspace_agents a on a.build_id = b.id and a.name = v.task_agent
    left join workspace_apps p on p.agent_id = a.id and p.slug = v.task_app
  where b.id = $1 and s.task_id = t.id and s.build_number = b.build_number
  returning s.task_id as id`);

/** Links the task of a workspace with the agent and the app that a start has created. */
export async function linkTaskApp(ctx: Context, buildId: string): Promise<void> {
  const task = await ctx.row(linkApp, buildId);
  if (task) await updateTaskStatus(ctx, task.id);
}

const endTask = statement<{ id: string }>(`
  with ended as (
    update tasks set deleted_at = now(), updated_at = now() where workspace_id = $1 and deleted_at is null returning id
  ), inputs as (
    update task_messages set state = 'canceled', finished_at = now()
    where task_id in (select id from ended) and state in ${openStates}
  ), snapshots as (delete from task_log_snapshots where task_id in (select id from ended))
  select id from ended`);

/** Deletes the task of a workspace, with its queue and its stored conversation, when the workspace is deleted. */
export async function endTaskOf(ctx: Context, workspaceId: string): Promise<void> {
  const task = await ctx.row(endTask, workspaceId);
  if (task) ctx.publish(taskHint(task.id));
}

const taskOf = statement<{ id: string; name: string; ownerId: string }>(
  `select id, name, owner_id as "ownerId" from tasks where workspace_id = $1 and deleted_at is null`,
);

/** The reasons of builds that pause and resume tasks. */
const reasons: Record<string, { template: "paused" | "resumed"; pause?: string }> = {
  task_manual_pause: { template: "paused", pause: "manual" },
  task_auto_pause: { template: "paused", pause: "idle timeout" },
  task_resume: { template: "resumed" },
};

/** A build that has succeeded. */
interface SucceededBuild {
  workspaceId: string;
  workspaceName: string;
  reason: string;
  initiatorName: string;
}

/** Notifies the owner of a task that it was paused or resumed, after the build has succeeded. */
export async function announceTaskBuild(
  ctx: Context,
  { workspaceId, workspaceName, reason, initiatorName }: SucceededBuild,
): Promise<void> {
  const kind = reasons[reason];
  const task = kind && (await ctx.row(taskOf, workspaceId));
  if (!task) return;
  await notify(ctx, {
    template: taskNotifications[kind.template],
    recipients: sql`u.id = ${task.ownerId}`,
    targets: [task.id, workspaceId],
    data: { initiator: initiatorName },
    labels: {
      task: task.name,
      task_id: task.id,
      workspace: workspaceName,
      ...(kind.pause && { pause_reason: kind.pause }),
    },
  });
}
