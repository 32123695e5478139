import { hash } from "node:crypto";
import type { InferResult } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { anyOf, rowsByKey } from "../kernel/queries.js";
import type { Context } from "../kernel/context.js";

/** The health of an app, by the checks of its agent. */
export const AppHealth = {
  DISABLED: "disabled",
  INITIALIZING: "initializing",
  HEALTHY: "healthy",
  UNHEALTHY: "unhealthy",
} as const;
export type AppHealth = (typeof AppHealth)[keyof typeof AppHealth];

/** Who may open an app. */
export const AppSharingLevel = {
  OWNER: "owner",
  AUTHENTICATED: "authenticated",
  ORGANIZATION: "organization",
  PUBLIC: "public",
} as const;
export type AppSharingLevel = (typeof AppSharingLevel)[keyof typeof AppSharingLevel];

/** Where dashboards open an app. */
export const AppOpenIn = { SLIM_WINDOW: "slim-window", TAB: "tab" } as const;
export type AppOpenIn = (typeof AppOpenIn)[keyof typeof AppOpenIn];

/** The state of the work of a program in an app. */
export const AppState = { WORKING: "working", IDLE: "idle", COMPLETE: "complete", FAILED: "failed" } as const;
export type AppState = (typeof AppState)[keyof typeof AppState];

const apps = (db: Db) =>
  db
    .selectFrom("workspaceApps as app")
    .innerJoin("workspaceAgents as a", "a.id", "app.agentId")
    .innerJoin("workspaces as w", "w.id", "a.workspaceId")
    .innerJoin("users as u", "u.id", "w.ownerId")
    .select([
      "app.id",
      "app.createdAt",
      "app.agentId",
      "app.slug",
      "app.displayName",
      "app.icon",
      "app.url",
      "app.command",
      "app.isExternal",
      "app.groupName",
      "app.isHidden",
      "app.openIn",
      "app.sharingLevel",
      "app.isOnSubdomain",
      "app.tooltip",
      "app.health",
      "app.healthcheckUrl",
      "app.healthcheckInterval",
      "app.healthcheckThreshold",
      "a.name as agentName",
      "w.name as workspaceName",
      "u.username as ownerName",
    ]);

/** An app, with the names of which its subdomain consists. */
export type AppRow = InferResult<ReturnType<typeof apps>>[number];

/** Batch read of the apps of agents, for `ctx.load`. Checks no permission: the agent does. */
export async function appsByAgent({ db }: Context, ids: readonly string[]): Promise<AppRow[][]> {
  const ofAgents = apps(db).where("app.agentId", "=", anyOf(ids));
  const found = await ofAgents.orderBy("app.agentId").orderBy("app.position").orderBy("app.id").execute();
  return rowsByKey(found, ids, ({ agentId }) => agentId);
}

/** Maximum length of a label of a host name (RFC 1035 §2.3.4). */
const longestLabel = 63;

/** The label before the wildcard of application hosts at which an app is served. */
export function subdomainNameOf({ slug, agentName, workspaceName, ownerName }: AppRow): string {
  const name = [slug, agentName, workspaceName, ownerName].join("--");
  return name.length <= longestLabel ? name : `h-${hash("sha256", name).slice(0, 32)}`;
}

/** The health check of an app; null without one. */
export const healthcheckOf = (app: AppRow) =>
  app.healthcheckUrl === ""
    ? null
    : { url: app.healthcheckUrl, interval: app.healthcheckInterval, threshold: app.healthcheckThreshold };

const statuses = (db: Db) =>
  db
    .selectFrom("workspaceAppStatuses")
    .select(["id", "createdAt", "workspaceId", "agentId", "appId", "state", "message", "uri"])
    .orderBy("createdAt", "desc")
    .orderBy("id", "desc");

/** A stored report of a program about its work in an app. */
export type AppStatusRow = InferResult<ReturnType<typeof statuses>>[number];

/** Whether a program waits for its user. */
export const needsAttention = ({ state }: AppStatusRow): boolean => state === "idle" || state === "failed";

/** Batch read of the statuses of apps, newest first, at most 100 each, for `ctx.load`. The app checks permissions. */
export async function statusesByApp({ db }: Context, ids: readonly string[]): Promise<AppStatusRow[][]> {
  const found = await statuses(db).where("appId", "=", anyOf(ids)).execute();
  return rowsByKey(found, ids, ({ appId }) => appId);
}
