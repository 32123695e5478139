import type { Context } from "../kernel/context.js";
import type { Actor } from "../kernel/actor.js";
import { may } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { DomainError, notFound } from "../kernel/errors.js";
import { foldedSql } from "../kernel/folding.js";
import { parseToken } from "../tokens/text.js";
import { reportingProxy } from "../workspace-proxies/registration.js";

/** An application as its address names it, and what its visitor shows. */
export interface ApplicationReference {
  /** Username, in any letter case. */
  owner: string;
  /** In any letter case. */
  workspace: string;
  agent: string;
  slug: string;
  apiKey?: string | null;
}

/** What a proxy needs to know before it lets somebody in. */
export interface ApplicationTarget {
  workspaceId: string;
  agentId: string;
  appId: string;
  /** Where the agent reaches the application; null for those who may not open it. */
  url: string | null;
  /** Who the visitor is; null if the key does not count. */
  userId: string | null;
  allowed: boolean;
}

interface FoundApplication {
  workspaceId: string;
  agentId: string;
  appId: string;
  url: string;
  sharingLevel: "owner" | "authenticated" | "organization" | "public";
  ownerId: string;
  organizationId: string;
}

const applicationByNames = statement<FoundApplication>(`
  select w.id as "workspaceId", a.id as "agentId", app.id as "appId", app.url, app.sharing_level as "sharingLevel",
    w.owner_id as "ownerId", w.organization_id as "organizationId"
  from users u join workspaces w on w.owner_id = u.id and w.deleted_at is null and lower(w.name) = lower($2)
    join workspace_agents a on a.workspace_id = w.id and a.name = $3 and a.token_ended_at is null
    join workspace_apps app on app.agent_id = a.id and app.slug = $4
  where ${foldedSql("u.username")} = ${foldedSql("$1")} and u.deleted_at is null`);

/** Tells a proxy where an application is and whether its visitor may open it. */
export async function readApplicationTarget(ctx: Context, asked: ApplicationReference): Promise<ApplicationTarget> {
  reportingProxy(ctx);
  const { owner, workspace, agent, slug, apiKey } = asked;
  const app = await ctx.row(applicationByNames, owner, workspace, agent, slug);
  if (!app) throw notFound();
  const visitor = apiKey ? await visitorOf(ctx, apiKey) : undefined;
  const { workspaceId, agentId, appId } = app;
  const allowed = mayOpen(app, visitor);
  return { workspaceId, agentId, appId, url: allowed ? app.url : null, userId: visitor?.userId ?? null, allowed };
}

/** Whoever shows the key. A proxy is shown application keys alone: other credentials count for nothing there. */
async function visitorOf({ services }: Context, apiKey: string): Promise<Actor | undefined> {
  if (parseToken(apiKey)?.kind !== "application") return undefined;
  try {
    return await services.credentials.authenticateUser(apiKey);
  } catch (error) {
    if (error instanceof DomainError && error.code === "UNAUTHENTICATED") return undefined;
    throw error;
  }
}

function mayOpen({ sharingLevel, ownerId, organizationId }: FoundApplication, visitor: Actor | undefined): boolean {
  if (sharingLevel === "public") return true;
  if (!visitor) return false;
  if (sharingLevel === "authenticated") return true;
  if (sharingLevel === "organization" && visitor.organizations.has(organizationId)) return true;
  return may(visitor, "workspace:application_connect", { ownerId, organizationId, acl: null });
}
