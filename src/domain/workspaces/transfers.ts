// Workspaces that administrators take over from their owners, or offer to other users.
import { endAgentTokens } from "../agents/agent-tokens.js";
import { authorize, mayOn } from "../authorization/authorization.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflict, DomainError, forbidden, notFound, onViolation, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { after, now } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import { notify } from "../notifications/notify.js";
import { workspaceNotifications } from "../notifications/templates/workspace-notifications.js";
import { isUnfinished } from "../tasks/task-messages.js";
import { ownerHint, taskHint } from "../tasks/task-status.js";
import { findTemplate } from "../templates/templates.js";
import { userActor } from "../users/user-actors.js";
import { findUser, type FoundUser, holdUsers, userTarget } from "../users/users.js";
import { latestBuildOf } from "./builds.js";
import { requireQuota } from "./quotas.js";
import {
  findWorkspace,
  nameViolated,
  ofWorkspace,
  workspaceHint,
  type WorkspaceRow,
  workspaces,
} from "./workspaces.js";
import { check, inputOf, type Input, optional, reference, required, someOf, uuid } from "../kernel/values.js";

/** Maximum number of workspaces of a transfer. */
const mostAtOnce = 50;

export const TransferWorkspaces = inputOf({
  workspaces: required(
    someOf(mostAtOnce, reference, `Must name 1 to ${mostAtOnce} workspaces.`),
    "The workspaces, {limits}: IDs, or `<owner>/<name>`. Each must be stopped.",
  ),
  receiver: optional(
    reference,
    "The new owner: ID, username, or `me`, a member of their organizations. Another user than the caller has to accept them. Default: `me`.",
  ),
});
export type TransferWorkspaces = Input<typeof TransferWorkspaces>;

export interface Transferred {
  workspaceIds: string[];
  /** Whether the receiver has to accept them. */
  isOffered: boolean;
}

/** How long a receiver may accept a workspace. */
const offerLifetime = 7 * day;

/**
 * Gives stopped workspaces to the caller, or offers them to another member of their organizations. All or none: throws
 * CONFLICT for those that are not stopped, or over the name or the quota of the receiver.
 */
export async function transferWorkspaces(ctx: Context, input: TransferWorkspaces): Promise<Transferred> {
  const { userId } = requireUser(ctx.actor);
  const problems = new Problems();
  check(TransferWorkspaces, input, problems);
  problems.throwIfAny();
  const found: WorkspaceRow[] = [];
  for (const ref of new Set(input.workspaces)) {
    const workspace = await findWorkspace(ctx, ref);
    // Without what decides about dominance, which is checked under the lock.
    authorize(ctx.actor, "workspace_transfer:create", { ...workspace, siteRoles: [], memberships: [] });
    found.push(workspace);
  }
  const receiver = await findUser(ctx, input.receiver ?? "me");
  const ids = [...new Set(found.map(({ id }) => id))].sort();
  const users = await usersOf(ctx, [receiver.id, ...found.map(({ ownerId }) => ownerId)]);
  const locked: WorkspaceRow[] = [];
  for (const id of ids) {
    const workspace = await lockLiving(ctx, id);
    requireTransferable(workspace, users, receiver.id);
    locked.push(workspace);
  }
  // The quota of the receiver is locked by organization.
  locked.sort((one, other) => (one.organizationId < other.organizationId ? -1 : 1));
  for (const workspace of locked)
    authorize(ctx.actor, "workspace_transfer:create", targetOf(workspace, users.get(workspace.ownerId)!));

  const isOffered = receiver.id !== userId;
  for (const workspace of locked) {
    if (isOffered) await offer(ctx, workspace, users.get(receiver.id)!);
    else await takeOver(ctx, workspace, users);
  }
  return { workspaceIds: ids, isOffered };
}

const targetOf = ({ organizationId }: WorkspaceRow, owner: FoundUser) => ({ ...userTarget(owner), organizationId });

/**
 * Keeps users unchanged, before workspaces are locked, and these before their offers. Transfers of other workspaces of the
 * same users do not wait for each other.
 */
async function usersOf(ctx: Context, ids: readonly string[]): Promise<Map<string, FoundUser>> {
  const held = await holdUsers(ctx, [...new Set(ids)]);
  return new Map(held.map((user) => [user.id, user]));
}

/** Locks a workspace that is not deleted. Throws NOT_FOUND. */
async function lockLiving(ctx: Context, id: string): Promise<WorkspaceRow> {
  const living = workspaces(ctx.db).where("w.id", "=", id).where("w.deletedAt", "is", null);
  const workspace = await living.forNoKeyUpdate().executeTakeFirst();
  if (!workspace) throw notFound();
  return workspace;
}

/** Throws CONFLICT unless a locked workspace is that of one of the held users, and can become that of the receiver. */
function requireTransferable(workspace: WorkspaceRow, users: ReadonlyMap<string, FoundUser>, receiverId: string): void {
  const { name, organizationId, ownerId, prebuiltPresetId, latestStatus } = workspace;
  if (prebuiltPresetId !== null) throw conflict(`The workspace ${name} is prebuilt, and has no owner yet.`);
  if (ownerId === receiverId) throw conflict(`The workspace ${name} is that of the receiver already.`);
  if (!users.has(ownerId)) throw conflict(`The workspace ${name} has another owner by now.`);
  if (latestStatus !== "stopped") throw conflict(`The workspace ${name} is not stopped. Stop it first.`);
  const receiver = users.get(receiverId);
  if (!receiver) throw notFound();
  if (receiver.status !== "active") throw conflict("The receiver is suspended.");
  if (!receiver.memberships.some((each) => each.organizationId === organizationId))
    throw conflict(`The receiver is no member of the organization of the workspace ${name}.`);
}

/** Offers a workspace to a user, instead of an earlier offer, and tells that user. */
async function offer(ctx: Context, workspace: WorkspaceRow, receiver: FoundUser): Promise<void> {
  const { userId: offeredById } = requireUser(ctx.actor);
  const { id: workspaceId, ownerId: formerOwnerId } = workspace;
  await ctx.db.deleteFrom("workspaceTransfers").where("workspaceId", "=", workspaceId).execute();
  await ctx.db
    .insertInto("workspaceTransfers")
    .values({
      id: newId(),
      workspaceId,
      formerOwnerId,
      receiverId: receiver.id,
      offeredById,
      createdAt: now,
      expiresAt: after(offerLifetime),
    })
    .execute();
  ctx.audit({ action: "update", ...ofWorkspace(workspace), diff: { offeredTo: { new: receiver.username } } });
  await notify(ctx, {
    template: workspaceNotifications.offered,
    recipients: [receiver.id],
    targets: [workspaceId],
    labels: { name: workspace.name },
    data: {},
  });
}

/**
 * Makes a locked workspace that of the caller. What the former owner gave out ends: shares, tokens of agents, the daemon
 * that keeps its files to itself. Files stay inside, and so nothing starts it by itself, and it gets no secrets of the new
 * owner unless that one wants it.
 */
async function takeOver(ctx: Context, workspace: WorkspaceRow, users: ReadonlyMap<string, FoundUser>): Promise<void> {
  const { userId: receiverId } = requireUser(ctx.actor);
  const { id: workspaceId, organizationId, ownerId } = workspace;
  await requireTemplate(ctx, workspace);
  const cost = (await latestBuildOf(ctx, workspace))?.dailyCost ?? 0;
  await requireQuota(ctx, { workspaceId, ownerId: receiverId, organizationId, cost, previous: 0 });
  await ctx.db
    .updateTable("workspaces")
    .set({
      ownerId: receiverId,
      pinnedDaemonId: null,
      injectUserSecrets: false,
      autostartSchedule: null,
      autostartAt: null,
      updatedAt: now,
    })
    .where("id", "=", workspaceId)
    .execute()
    .catch(nameViolated);
  await endAgentTokens(ctx, workspaceId);
  const shares = await ctx.db
    .deleteFrom("workspaceAclEntries")
    .where("workspaceId", "=", workspaceId)
    .executeTakeFirst();
  await ctx.db.deleteFrom("workspaceTransfers").where("workspaceId", "=", workspaceId).execute();
  await takeOverTask(ctx, workspace, receiverId);
  const diff = {
    owner: { old: users.get(ownerId)!.username, new: users.get(receiverId)!.username },
    ...(shares.numDeletedRows > 0n && { shares: { old: Number(shares.numDeletedRows), new: 0 } }),
  };
  ctx.audit({ action: "update", ...ofWorkspace(workspace), diff });
  ctx.publish(workspaceHint(workspaceId));
}

/** Throws FORBIDDEN unless the caller may use the template of a workspace, also if it may not even read the template. */
async function requireTemplate(ctx: Context, { name, templateId }: WorkspaceRow): Promise<void> {
  try {
    authorize(ctx.actor, "template:use", await findTemplate(ctx, templateId));
  } catch (error) {
    if (!(error instanceof DomainError) || !["NOT_FOUND", "FORBIDDEN"].includes(error.code)) throw error;
    throw forbidden(`You may not use the template of the workspace ${name}.`, error.details);
  }
}

/** Makes the task of a workspace that of its new owner, without the inputs that the former one queued. */
async function takeOverTask(ctx: Context, { id, ownerId }: WorkspaceRow, receiverId: string): Promise<void> {
  const task = await ctx.db
    .updateTable("tasks")
    .set({ ownerId: receiverId, updatedAt: now })
    .where("workspaceId", "=", id)
    .where("deletedAt", "is", null)
    .returning("id")
    .executeTakeFirst()
    .catch(taskNameViolated);
  if (!task) return;
  await ctx.db
    .updateTable("taskMessages")
    .set({ state: "canceled", finishedAt: now })
    .where("taskId", "=", task.id)
    .where(isUnfinished)
    .execute();
  ctx.publish(taskHint(task.id), ownerHint(ownerId), ownerHint(receiverId));
}

const taskNameViolated = onViolation({
  tasks_name_unique: () => conflict("The receiver has a task of this name."),
});

/** A workspace that is offered to the caller. */
export interface WorkspaceTransferRow {
  id: string;
  workspaceId: string;
  workspaceName: string;
  formerOwnerId: string;
  offeredById: string;
  createdAt: string;
  expiresAt: string;
}

/** Maximum number of listed offers. */
const mostListed = 100;

const offersTo = ({ db }: Context, receiverId: string) =>
  db
    .selectFrom("workspaceTransfers as t")
    .innerJoin("workspaces as w", "w.id", "t.workspaceId")
    .where("t.receiverId", "=", receiverId)
    .where("t.expiresAt", ">", now)
    .where("w.deletedAt", "is", null)
    .whereRef("w.ownerId", "=", "t.formerOwnerId")
    .select([
      "t.id",
      "t.workspaceId",
      "w.name as workspaceName",
      "t.formerOwnerId",
      "t.offeredById",
      "t.createdAt",
      "t.expiresAt",
    ]);

/** Lists the workspaces that are offered to the caller, the latest first. */
export async function listWorkspaceTransfers(ctx: Context): Promise<WorkspaceTransferRow[]> {
  const { userId } = requireUser(ctx.actor);
  authorize(ctx.actor, "workspace_transfer:read", { ownerId: userId });
  return offersTo(ctx, userId).orderBy("t.createdAt", "desc").orderBy("t.id").limit(mostListed).execute();
}

export const WorkspaceOffer = inputOf({
  id: required(uuid, "ID of the offer."),
});
export type WorkspaceOffer = Input<typeof WorkspaceOffer>;

/**
 * Makes an offered workspace that of the caller. Throws CONFLICT if the administrator could not transfer it any more.
 * Returns the id of the workspace.
 */
export async function acceptWorkspaceTransfer(ctx: Context, id: string): Promise<string> {
  const { workspace, offeredById, users, userId } = await takeOffer(ctx, id);
  requireTransferable(workspace, users, userId);
  const administrator = await userActor(ctx, offeredById);
  const target = targetOf(workspace, users.get(workspace.ownerId)!);
  if (!administrator || !mayOn(administrator, "workspace_transfer:create", target))
    throw conflict("The administrator who offered the workspace may no longer do so.");
  await takeOver(ctx, workspace, users);
  return workspace.id;
}

/** Ends an offer to the caller. Returns the id of the workspace, which stays with its owner. */
export async function declineWorkspaceTransfer(ctx: Context, id: string): Promise<string> {
  const { workspace, users, userId } = await takeOffer(ctx, id);
  const diff = { offeredTo: { old: users.get(userId)!.username, new: null } };
  ctx.audit({ action: "deny", ...ofWorkspace(workspace), diff });
  return workspace.id;
}

/** Ends an offer to the caller, of a workspace that it locks. Of two requests, the second one finds no offer any more. */
async function takeOffer(ctx: Context, id: string) {
  const { userId } = requireUser(ctx.actor);
  authorize(ctx.actor, "workspace_transfer:update", { ownerId: userId });
  const offered = await offersTo(ctx, userId).where("t.id", "=", id).executeTakeFirst();
  if (!offered) throw notFound();
  const users = await usersOf(ctx, [userId, offered.formerOwnerId]);
  const workspace = await lockLiving(ctx, offered.workspaceId);
  const ended = await ctx.db.deleteFrom("workspaceTransfers").where("id", "=", id).returning("id").executeTakeFirst();
  if (!ended || !users.has(userId)) throw notFound();
  return { ...offered, workspace, users, userId };
}

/** Deletes offers that were not accepted in time. */
export const transferPurge = purge("workspace_transfers", { by: "expires_at" });
