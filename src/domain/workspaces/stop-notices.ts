// Notices to owners that their workspace stops by itself soon.
import { sql, type SqlBool } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { databaseTime, instantOf } from "../../runtime/clock.js";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { after, now } from "../kernel/queries.js";
import { minute } from "../../runtime/durations.js";
import { claimIds } from "../kernel/queue.js";
import { notify } from "../notifications/notify.js";
import { workspaceNotifications } from "../notifications/templates/workspace-notifications.js";

const k = columnsOf("tasks", "k");

/** Maximum number of workspaces that are noticed in a transaction. */
const batchSize = 50;

/** Running workspaces `w`, whose owners are told of them. Those of tasks are left out: the task tells, and starts them again. */
export const selectRunning = (db: Db) =>
  db
    .selectFrom("workspaces as w")
    .select("w.id")
    .where("w.deletedAt", "is", null)
    .where("w.prebuiltPresetId", "is", null)
    .where("w.latestStatus", "=", "running")
    .where(sql<SqlBool>`not exists (select from tasks k where ${k.workspaceId} = w.id and ${k.deletedAt} is null)`);

/**
 * Marks workspaces that stop within the time of the notice. Activity may move a deadline again and again: their owners are
 * told once in that time.
 */
const take = ({ db }: Context, notice: number) =>
  db
    .updateTable("workspaces")
    .set({ stopNoticedAt: now })
    .where(
      "id",
      "=",
      claimIds(
        selectRunning(db)
          .where("w.deadline", ">", now)
          .where("w.deadline", "<=", after(notice))
          .where((eb) => eb.or([eb("w.stopNoticedAt", "is", null), eb("w.stopNoticedAt", "<", after(-notice))]))
          .orderBy("w.deadline"),
        batchSize,
        "w",
      ),
    )
    .returning(["id", "name", "ownerId", "templateId", "organizationId", "deadline"]);

/** Tells owners that their workspaces stop soon. Returns the number of workspaces. */
async function noticeStops(services: Services): Promise<number> {
  const ctx = systemContext(services);
  return ctx.transactional(async () => {
    const found = await take(ctx, services.config.autostopNotice).execute();
    await notify(
      ctx,
      ...found.map(({ id, name, ownerId, templateId, organizationId, deadline }) => ({
        template: workspaceNotifications.stopsSoon,
        object: { name, organizationId },
        recipients: [ownerId],
        targets: [id, templateId, ownerId, organizationId],
        labels: { name, deadline: deadline! },
        data: {},
        dedupeKey: `${id} ${deadline!}`,
        // It is of no use once the workspace has stopped.
        lifetime: Math.max(instantOf(deadline!) - databaseTime(), minute),
      })),
    );
    return found.length;
  });
}

/** The job that sends the notices. Safe on several replicas: each takes other workspaces. */
export const stopNotices = {
  name: "tell owners that workspaces stop soon",
  every: minute,
  async run(services: Services): Promise<void> {
    if (services.config.autostopNotice === 0) return;
    while ((await noticeStops(services)) === batchSize);
  },
};
