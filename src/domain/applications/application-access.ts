import { type InferResult, sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import type { Context } from "../kernel/context.js";
import type { UserActor } from "../kernel/actor.js";
import { authorizeMachine, may } from "../authorization/authorization.js";
import { mustAddFactor } from "../authorization/missing-factors.js";
import { DomainError, notFound } from "../kernel/errors.js";
import { foldCase } from "../../runtime/text.js";
import { foldedColumn } from "../kernel/queries.js";
import { parseToken } from "../tokens/token-text.js";
import { type Input, inputOf, optional, reference, required, secret } from "../kernel/values.js";

/** An application, given by the names in its URL, and the application key of the visitor. */
export const ApplicationReference = inputOf({
  owner: required(reference, "Username of the workspace owner."),
  workspace: required(reference, "Name of the workspace."),
  agent: required(reference, "Name of the workspace agent."),
  slug: required(reference, "Slug of the application."),
  apiKey: optional(secret, "Application key presented by the visitor, if any."),
});
export type ApplicationReference = Input<typeof ApplicationReference>;

/** The details by which a proxy admits or rejects a visitor. */
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

/** Finds an application of a running agent by the names in its URL. */
const applicationNamed = (db: Db, { owner, workspace, agent, slug }: ApplicationReference) =>
  db
    .selectFrom("users as u")
    .innerJoin("workspaces as w", "w.ownerId", "u.id")
    .innerJoin("workspaceAgents as a", "a.workspaceId", "w.id")
    .innerJoin("workspaceApps as app", "app.agentId", "a.id")
    .where(foldedColumn("u.username"), "=", foldCase(owner))
    .where("u.deletedAt", "is", null)
    .where(sql`lower(w.name)`, "=", sql`lower(${workspace})`)
    .where("w.deletedAt", "is", null)
    .where("a.name", "=", agent)
    .where("a.tokenEndedAt", "is", null)
    .where("app.slug", "=", slug)
    .select([
      "w.id as workspaceId",
      "a.id as agentId",
      "app.id as appId",
      "app.url",
      "app.sharingLevel",
      "w.ownerId",
      "w.organizationId",
    ]);

type FoundApplication = InferResult<ReturnType<typeof applicationNamed>>[number];

/** Resolves an application for a proxy, and whether the visitor may open it. Throws NOT_FOUND. */
export async function readApplicationTarget(ctx: Context, wanted: ApplicationReference): Promise<ApplicationTarget> {
  authorizeMachine(ctx.actor, "application:resolve");
  const app = await applicationNamed(ctx.db, wanted).executeTakeFirst();
  if (!app) throw notFound();
  const visitor = wanted.apiKey ? await visitorOf(ctx, wanted.apiKey) : undefined;
  const { workspaceId, agentId, appId } = app;
  const allowed = mayOpen(app, visitor);
  return { workspaceId, agentId, appId, url: allowed ? app.url : null, userId: visitor?.userId ?? null, allowed };
}

/** Returns the holder of an application key, unless the holder must change the password or add a second factor first. Proxies receive no other credentials, so none is accepted. */
async function visitorOf({ services }: Context, apiKey: string): Promise<UserActor | undefined> {
  if (parseToken(apiKey)?.kind !== "application") return undefined;
  try {
    const visitor = await services.credentials.authenticateUser(apiKey);
    return visitor.mustChangePassword || mustAddFactor(visitor) ? undefined : visitor;
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
