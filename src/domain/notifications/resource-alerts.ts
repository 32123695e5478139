import { authorizeMachine } from "../authorization/authorization.js";
import { auditedAs } from "../kernel/audit.js";
import type { Context } from "../kernel/context.js";
import { forbidden, Problems } from "../kernel/errors.js";
import { faultOf, prose } from "../kernel/values.js";
import { type Notification, notify, oncePerHour } from "./notify.js";
import { workspaceNotifications } from "./templates/workspace-notifications.js";

/** A resource of a workspace that can run out. */
export const AgentResource = { MEMORY: "memory", DISK: "disk" } as const;
export type AgentResource = (typeof AgentResource)[keyof typeof AgentResource];

/** A report of an agent: the threshold in percent of the memory, or of each volume that is above it. */
export interface ResourceAlert {
  resource: AgentResource;
  threshold?: number | null;
  volumes?: ReadonlyArray<{ path: string; threshold: number }> | null;
}

const workspaceOfAgent = ({ db }: Context, agentId: string) =>
  db
    .selectFrom("workspaceAgents as a")
    .innerJoin("workspaces as w", "w.id", "a.workspaceId")
    .select(["w.id", "w.name", "w.ownerId"])
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
    recipients: [workspace.ownerId],
    targets: [workspace.id],
    dedupeKey: oncePerHour(agent.id),
  });
  if (sent.length === 0) return false;
  const diff = { resource: { new: alert.resource } };
  ctx.audit({ action: "create", ...auditedAs("resource_alert", workspace.id, workspace.name), diff });
  return true;
}

/** Maximum number of volumes, and of characters of their paths. */
const mostVolumes = 20;
const longestPath = 255;

function requireValid({ resource, threshold, volumes }: ResourceAlert): void {
  const problems = new Problems();
  if (resource === AgentResource.MEMORY) problems.add("threshold", percentProblem(threshold));
  else if (!volumes || volumes.length === 0) problems.add("volumes", "Is required.");
  else if (volumes.length > mostVolumes) problems.add("volumes", `Must be at most ${mostVolumes} volumes.`);
  else
    for (const [nr, { path, threshold: own }] of volumes.entries()) {
      problems.add(`volumes[${nr}].path`, path === "" ? "Is required." : faultOf(prose(longestPath), path));
      problems.add(`volumes[${nr}].threshold`, percentProblem(own));
    }
  problems.throwIfAny();
}

const percentProblem = (percent: number | null | undefined): string | undefined =>
  percent != null && percent >= 1 && percent <= 100 ? undefined : "Must be a percentage from 1 to 100.";

const contentOf = (
  { name }: { name: string },
  { resource, threshold, volumes }: ResourceAlert,
): Pick<Notification, "template" | "labels" | "data"> =>
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
