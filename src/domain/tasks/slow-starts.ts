// Tasks that do not become active in time: their owners are told why.
import { sql, type SqlBool } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { second } from "../../runtime/durations.js";
import { notify } from "../notifications/notify.js";
import { taskNotifications } from "../notifications/templates/task-notifications.js";
import { isUnhealthy, workspaceHealths } from "../workspaces/workspace-health.js";

const t = columnsOf("tasks", "t");
const w = columnsOf("workspaces", "w");
const n = columnsOf("notificationMessages", "n");

const template = taskNotifications.doesNotStart;

/** Maximum number of tasks that are found at a time. */
const batchSize = 50;

/** Tasks behind an id that should start, but do not, and whose owners were not told of this start. */
const stuck = (ctx: Context, last: string | undefined) =>
  ctx.db
    .selectFrom("tasks as t")
    .innerJoin("workspaces as w", "w.id", "t.workspaceId")
    .select([
      "t.id",
      "t.name",
      "t.ownerId",
      "w.organizationId",
      "w.id as workspaceId",
      "w.name as workspaceName",
      "w.latestBuildId",
    ])
    .where("t.deletedAt", "is", null)
    .where("t.status", "in", ["pending", "initializing"]) // tasks_status_index
    .where(isUnhealthy(ctx))
    .where(
      sql<SqlBool>`not exists (select from notification_messages n where ${n.templateId} = ${template.id}
        and ${n.userId} = ${t.ownerId} and ${n.method} = 'inbox' and ${n.dedupeKey} = ${w.latestBuildId}::text)`,
    )
    .$if(last !== undefined, (tasks) => tasks.where("t.id", ">", last!))
    .orderBy("t.id")
    .limit(batchSize);

/**
 * Tells owners once for each start that their task does not start, and why. Each run passes the tasks once, since those of
 * suspended owners, who are not told, are found again. Replicas may run it concurrently.
 */
async function tellOfSlowStarts(services: Services): Promise<void> {
  let last: string | undefined;
  for (;;) {
    const ctx = systemContext(services);
    const found = await ctx.transactional(async () => {
      const tasks = await stuck(ctx, last).execute();
      const healths = await workspaceHealths(
        ctx,
        tasks.map(({ workspaceId }) => workspaceId),
      );
      await notify(
        ctx,
        ...tasks.map(({ id, name, organizationId, ownerId, workspaceId, workspaceName, latestBuildId }, nr) => ({
          template,
          object: { name, organizationId },
          recipients: [ownerId],
          targets: [id, workspaceId],
          labels: {
            task: name,
            workspace: workspaceName,
            reason: [healths[nr]!.reason, healths[nr]!.help].filter(Boolean).join(" "),
          },
          data: {},
          dedupeKey: latestBuildId!,
        })),
      );
      return tasks;
    });
    if (found.length < batchSize) return;
    last = found.at(-1)!.id;
  }
}

export const slowStarts = {
  name: "tell owners that tasks do not start",
  every: 30 * second,
  run: tellOfSlowStarts,
};
