import { databaseTime } from "../../clock.js";
import { hasFeature } from "../entitlements/requirements.js";
import { systemActor } from "../kernel/actor.js";
import { Context, type Services } from "../kernel/context.js";
import { type Statement, statement } from "../kernel/database.js";
import { newId } from "../kernel/ids.js";
import { minute } from "../kernel/purge.js";
import { systemIdentity } from "../users/system-identities.js";
import { announceDormancy } from "./build-events.js";
import { createBuild } from "./builds.js";
import { isOpen, openStatusList } from "./status.js";
import { ofWorkspace, workspaceColumns, workspaceHint, type WorkspaceRow } from "./workspaces.js";

/** A workspace that is due, with what its template and its task say. */
interface Due extends WorkspaceRow {
  hasTask: boolean;
  deleteAfterSeconds: number;
}

/** Maximum number of workspaces that a replica claims at a time. */
const batchSize = 20;

// A replica that ends before it acts delays the workspaces by a minute.
const claiming = (from: string, condition: string, order: string): Statement<{ id: string }> =>
  statement(`
    update workspaces set autobuild_after = now() + interval '1 minute' where id = any(array(
      select w.id from ${from}
      where ${condition} and w.deleted_at is null and w.prebuilt_preset_id is null
        and w.latest_status not in ${openStatusList} and (w.autobuild_after is null or w.autobuild_after <= now())
      order by ${order} limit ${batchSize} for no key update of w skip locked))
    returning id`);

const withTemplate = "workspaces w join templates t on t.id = w.template_id";

const isUnused =
  "t.dormant_after > 0 and w.dormant_at is null and w.last_used_at <= now() - make_interval(secs => t.dormant_after)";
const isExpired = "t.delete_after > 0 and w.dormant_at <= now() - make_interval(secs => t.delete_after)";

const claims = {
  overdue: claiming("workspaces w", "w.deadline <= now()", "w.deadline"),
  unused: claiming(withTemplate, isUnused, "w.last_used_at"),
  expired: claiming(withTemplate, isExpired, "w.dormant_at"),
};

const lock = statement<Due>(`
  select ${workspaceColumns}, t.delete_after as "deleteAfterSeconds",
    exists (select from tasks k where k.workspace_id = w.id and k.deleted_at is null) as "hasTask"
  from workspaces w join templates t on t.id = w.template_id
  where w.id = $1 and w.deleted_at is null for no key update of w`);

// A build that fails is repeated after this time.
const retryLater = statement("update workspaces set autobuild_after = now() + interval '30 minutes' where id = $1");

async function stopOverdue(ctx: Context, workspace: Due, initiatorId: string): Promise<void> {
  if (workspace.deadline === null || workspace.deadline > new Date(databaseTime()).toISOString()) return;
  const reason = workspace.hasTask ? "task_auto_pause" : "autostop";
  await createBuild(ctx, workspace, { transition: "stop", reason, initiatorId });
  await ctx.row(retryLater, workspace.id);
}

const markDormant = statement<{ dormantAt: string }>(`
  update workspaces set dormant_at = now(), updated_at = now() where id = $1 returning dormant_at as "dormantAt"`);

async function makeDormant(ctx: Context, workspace: Due, initiatorId: string): Promise<void> {
  if (workspace.dormantAt !== null) return;
  if (workspace.latestStatus !== "stopped") {
    await createBuild(ctx, workspace, { transition: "stop", reason: "dormancy", initiatorId });
    await ctx.row(retryLater, workspace.id);
  }
  const { dormantAt } = (await ctx.row(markDormant, workspace.id))!;
  ctx.audit({ action: "update", ...ofWorkspace(workspace), diff: { dormantAt: { old: null, new: dormantAt } } });
  ctx.publish(workspaceHint(workspace.id));
  await announceDormancy(ctx, workspace, dormantAt, workspace.deleteAfterSeconds);
}

async function deleteExpired(ctx: Context, workspace: Due, initiatorId: string): Promise<void> {
  if (workspace.dormantAt === null) return;
  await createBuild(ctx, workspace, { transition: "delete", reason: "autodelete", initiatorId });
  await ctx.row(retryLater, workspace.id);
}

type Act = (ctx: Context, workspace: Due, initiatorId: string) => Promise<void>;

/** Claims workspaces that are due, in batches, and acts on each in a transaction of its own. */
async function sweep(services: Services, claim: Statement<{ id: string }>, act: Act): Promise<void> {
  for (;;) {
    const due = await services.database.query(claim, []);
    for (const { id } of due) {
      try {
        await inTransaction(services, id, act);
      } catch (error) {
        services.log.error(
          { err: error, workspaceId: id },
          "A workspace could not be stopped or deleted. Retried later.",
        );
      }
    }
    if (due.length < batchSize) return;
  }
}

async function inTransaction(services: Services, id: string, act: Act): Promise<void> {
  const ctx = new Context(services, systemActor, { id: newId() }, () => new AbortController());
  await ctx.transactional(async () => {
    const initiatorId = await systemIdentity(ctx, "system");
    const workspace = await ctx.row(lock, id);
    if (workspace && !isOpen(workspace.latestStatus)) await act(ctx, workspace, initiatorId);
  });
}

const scheduled = (claim: Statement<{ id: string }>, act: Act) => async (services: Services) => {
  if (hasFeature({ services }, "advanced_template_scheduling")) await sweep(services, claim, act);
};

/** What the server does with workspaces by itself. */
export const workspaceJobs = [
  {
    name: "stop workspaces at their deadline",
    every: minute / 4,
    run: (services: Services) => sweep(services, claims.overdue, stopOverdue),
  },
  { name: "make unused workspaces dormant", every: 5 * minute, run: scheduled(claims.unused, makeDormant) },
  { name: "delete dormant workspaces", every: 5 * minute, run: scheduled(claims.expired, deleteExpired) },
];
