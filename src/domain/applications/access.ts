import type { Context } from "../kernel/context.js";
import type { UserActor } from "../kernel/actor.js";
import { authorizeMachine, may } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { DomainError, notFound } from "../kernel/errors.js";
import { foldedSql } from "../kernel/folding.js";
import { parseToken } from "../tokens/text.js";

/** An application, given by the names in its URL, and the application key of the visitor. */
export interface ApplicationReference {
  /** Username, in any letter case. */
  owner: string;
  /** In any letter case. */
  workspace: string;
  agent: string;
  slug: string;
  apiKey?: string | null;
}

/** What a proxy needs to admit or reject a visitor. */
export interface ApplicationTarget {
  workspaceId: string;
  agentId: string;
  appId: string;
  /** The URL of the application for the agent; null unless `allowed`. */
  url: string | null;
  /** The visitor; null without a valid key. */
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

/** Resolves an application for a proxy, and whether the visitor may open it. Throws NOT_FOUND. */
export async function readApplicationTarget(ctx: Context, reference: ApplicationReference): Promise<ApplicationTarget> {
  authorizeMachine(ctx.actor, "application:resolve");
  const { owner, workspace, agent, slug, apiKey } = reference;
  const app = await ctx.row(applicationByNames, owner, workspace, agent, slug);
  if (!app) throw notFound();
  const visitor = apiKey ? await visitorOf(ctx, apiKey) : undefined;
  const { workspaceId, agentId, appId } = app;
  const allowed = mayOpen(app, visitor);
  return { workspaceId, agentId, appId, url: allowed ? app.url : null, userId: visitor?.userId ?? null, allowed };
}

/** Returns the holder of an application key. Proxies receive no other credentials, so none is accepted. */
async function visitorOf({ services }: Context, apiKey: string): Promise<UserActor | undefined> {
  if (parseToken(apiKey)?.kind !== "application") return undefined;
  try {
    return await services.credentials.authenticateUser(apiKey);
  } catch (error) {
    if (error instanceof DomainError && error.code === "UNAUTHENTICATED") return undefined;
    throw error;
  }
}

function mayOpen({ sharingLevel, ownerId, organizationId }: FoundApplication, visitor: UserActor | undefined): boolean {
  if (sharingLevel === "public") return true;
  if (!visitor) return false;
  if (sharingLevel === "authenticated") return true;
  if (sharingLevel === "organization" && visitor.organizations.has(organizationId)) return true;
  return may(visitor, "workspace:application_connect", { ownerId, organizationId, acl: null });
}
