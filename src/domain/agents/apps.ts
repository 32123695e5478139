import { hash } from "node:crypto";
import { WorkspaceApp, WorkspaceAppStatus } from "../../entities/agents.js";
import { rowsByKey } from "../kernel/batches.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";

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

/** What a program in an app does. */
export const AppState = { WORKING: "working", IDLE: "idle", COMPLETE: "complete", FAILED: "failed" } as const;
export type AppState = (typeof AppState)[keyof typeof AppState];

const columns = columnsOf(WorkspaceApp, "app", [
  "id",
  "createdAt",
  "agentId",
  "slug",
  "displayName",
  "icon",
  "url",
  "command",
  "isExternal",
  "groupName",
  "isHidden",
  "openIn",
  "sharingLevel",
  "isOnSubdomain",
  "tooltip",
  "health",
  "healthcheckUrl",
  "healthcheckInterval",
  "healthcheckThreshold",
]);

/** An app, with the names of which its subdomain consists. */
export type AppRow = RowOf<typeof columns> & { agentName: string; workspaceName: string; ownerName: string };

const appsOfAgents = statement<AppRow>(`
  select ${columns}, a.name as "agentName", w.name as "workspaceName", u.username as "ownerName"
  from workspace_apps app join workspace_agents a on a.id = app.agent_id
    join workspaces w on w.id = a.workspace_id join users u on u.id = w.owner_id
  where app.agent_id = any($1::uuid[]) order by app.agent_id, app.position, app.id`);

/** Batch read of the apps of agents, for `ctx.load`. Checks no permission: the agent does. */
export const appsByAgent = async (ctx: Context, ids: readonly string[]): Promise<AppRow[][]> =>
  rowsByKey(await ctx.rows(appsOfAgents, ids), ids, ({ agentId }) => agentId);

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

const statusColumns = columnsOf(WorkspaceAppStatus, "s", [
  "id",
  "createdAt",
  "workspaceId",
  "agentId",
  "appId",
  "state",
  "message",
  "uri",
]);

/** What a program reported about its work in an app. */
export type AppStatusRow = RowOf<typeof statusColumns>;

/** Whether a program waits for its user. */
export const needsAttention = ({ state }: AppStatusRow): boolean => state === "idle" || state === "failed";

const statusesOfApps = statement<AppStatusRow>(`
  select ${statusColumns} from workspace_app_statuses s where s.app_id = any($1::uuid[])
  order by s.created_at desc, s.id desc`);

/** Batch read of the statuses of apps, newest first, at most 100 each, for `ctx.load`. The app checks permissions. */
export const statusesByApp = async (ctx: Context, ids: readonly string[]): Promise<AppStatusRow[][]> =>
  rowsByKey(await ctx.rows(statusesOfApps, ids), ids, ({ appId }) => appId);
