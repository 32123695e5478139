import { authorizeMachine } from "../authorization/authorization.js";
import { auditedAs } from "../kernel/audit.js";
import type { Context } from "../kernel/context.js";
import { forbidden, Problems } from "../kernel/errors.js";
import { check, choice, further, inputOf, type Input, int, list, optional, prose, required } from "../kernel/values.js";
import type { EventObject } from "./notified-events.js";
import { type Notification, notify, oncePerHour } from "./notify.js";
import { workspaceNotifications } from "./templates/workspace-notifications.js";

/** A resource of a workspace that can run out. */
export const AgentResource = { MEMORY: "memory", DISK: "disk" } as const;
export type AgentResource = (typeof AgentResource)[keyof typeof AgentResource];

const percentRule = "Must be a percentage from 1 to 100.";
const percent = int(1, 100, percentRule);

export const FullVolume = inputOf({
  path: required(
    further(prose(255), (path) => (path === "" ? "Is required." : undefined)),
    "Path at which it is mounted, {limits}.",
  ),
  threshold: required(percent, "Threshold in percent, {limits}."),
});
export type FullVolume = Input<typeof FullVolume>;

/** A report of an agent: the threshold in percent of the memory, or of each volume that is above it. */
export const ResourceAlert = inputOf({
  resource: required(choice(AgentResource), "The resource."),
  threshold: optional(percent, "Threshold in percent, {limits}. Required for MEMORY."),
  volumes: optional(list(20, FullVolume, "volumes"), "Volumes, {limits}. Required for DISK."),
});
export type ResourceAlert = Input<typeof ResourceAlert>;

const workspaceOfAgent = ({ db }: Context, agentId: string) =>
  db
    .selectFrom("workspaceAgents as a")
    .innerJoin("workspaces as w", "w.id", "a.workspaceId")
    .select(["w.id", "w.name", "w.ownerId", "w.organizationId"])
    .where("a.id", "=", agentId)
    .where("a.tokenEndedAt", "is", null)
    .where("w.deletedAt", "is", null);

/**
 * Tells the owner of a workspace that it runs out of memory or disk space. For its agents. Of the alerts of an agent
 * about a resource in an hour (UTC), the first one takes effect. Returns whether this one does.
 */
export async function reportResourceAlert(ctx: Context, alert: ResourceAlert): Promise<boolean> {
  const agent = authorizeMachine(ctx.actor, "resource_alert:report");
  const workspace = await workspaceOfAgent(ctx, agent.id).executeTakeFirst();
  if (!workspace) throw forbidden();
  requireValid(alert);
  const sent = await notify(ctx, {
    ...contentOf(workspace, alert),
    object: workspace,
    recipients: [workspace.ownerId],
    targets: [workspace.id],
    dedupeKey: oncePerHour(agent.id),
  });
  if (sent.length === 0) return false;
  const diff = { resource: { new: alert.resource } };
  ctx.audit({ action: "create", ...auditedAs("resource_alert", workspace.id, workspace.name), diff });
  return true;
}

function requireValid({ resource, threshold, volumes }: ResourceAlert): void {
  const problems = new Problems();
  if (resource === AgentResource.MEMORY) {
    problems.add("threshold", threshold == null ? percentRule : undefined);
    check(ResourceAlert, { threshold }, problems);
  } else {
    problems.add("volumes", volumes && volumes.length > 0 ? undefined : "Is required.");
    check(ResourceAlert, { volumes }, problems);
  }
  problems.throwIfAny();
}

type Alerted = Pick<Extract<Notification, { object: EventObject }>, "template" | "labels" | "data">;

const contentOf = ({ name }: { name: string }, { resource, threshold, volumes }: ResourceAlert): Alerted =>
  resource === AgentResource.MEMORY
    ? {
        template: workspaceNotifications.outOfMemory,
        labels: { workspace: name, threshold: `${threshold}%` },
        data: {},
      }
    : {
        template: workspaceNotifications.outOfDisk,
        labels: { workspace: name },
        data: { volumes: volumes!.map((volume) => ({ path: volume.path, threshold: `${volume.threshold}%` })) },
      };
