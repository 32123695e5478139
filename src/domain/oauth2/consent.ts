import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { onViolation, unauthenticated } from "../kernel/errors.js";
import { now } from "../kernel/queries.js";
import { type ClientRow, clientIdOf } from "./clients.js";
import { oauthFailure } from "./oauth-errors.js";
import { createGrant, type NewGrant } from "./grants.js";
import { type DescribedScope, describe } from "./requested-scopes.js";

/** A request of an application for access, as the user sees it. */
export interface AccessRequest {
  client: ClientRow;
  scopes: string[];
  /** Scopes that the application asks for, and cannot get. */
  refusedScopes: string[];
  /** In canonical form. Empty: the whole of this server. */
  audiences: string[];
}

/** An application as its users see it before they allow it anything. */
export interface RequestingApp {
  clientId: string;
  name: string;
  /** Whether an administrator added it. Others chose their names themselves. */
  isVerified: boolean;
  /** The host that describes the application, if its `client_id` is a URL. */
  host: string | null;
}

/** The parts of an access request that are presented to the user. */
export interface PresentedRequest {
  app: RequestingApp;
  /** Without those that others of them include. */
  scopes: DescribedScope[];
  /** Scopes that the application asks for, and does not get, whatever the user decides. */
  refusedScopes: DescribedScope[];
  isUnrestricted: boolean;
  audiences: string[];
}

/** Presents an access request to the user. */
export function presentRequest({ client, scopes, refusedScopes, audiences }: AccessRequest): PresentedRequest {
  const { name, kind, documentUrl } = client;
  return {
    app: {
      clientId: clientIdOf(client),
      name,
      isVerified: kind === "admin",
      host: documentUrl === null ? null : new URL(documentUrl).host,
    },
    scopes: describe(scopes),
    refusedScopes: describe(refusedScopes),
    isUnrestricted: scopes.includes("all"),
    audiences,
  };
}

export const unknownApp = () =>
  oauthFailure("invalid_request", "The application is unknown or disabled. It cannot request access.");

/** Creates the grant of the signed-in user, to be redeemed within `lifetime` milliseconds. Returns its id. */
export async function grantAccess(
  ctx: Context,
  { client, scopes, audiences }: AccessRequest,
  lifetime: number,
): Promise<string> {
  const { credential, userId } = requireUser(ctx.actor);
  // The credential may have ended during the request. The lock makes suspension and the limit of grants wait their turn.
  const holder = await ctx.db
    .selectFrom("apiKeys as k")
    .innerJoin("users as u", "u.id", "k.userId")
    .where("k.id", "=", credential.id)
    .where("k.expiresAt", ">", now)
    .where("u.status", "=", "active")
    .where("u.deletedAt", "is", null)
    .select("u.id")
    .forNoKeyUpdate("u")
    .forKeyShare("k")
    .executeTakeFirst();
  if (!holder) throw unauthenticated("The token is not valid.");
  const grant: NewGrant = { userId, clientId: client.id, scopes, audiences, madeBy: credential.id, lifetime };
  const id = await createGrant(ctx, grant).catch(onViolation({ oauth2_grants_client_id_foreign: unknownApp }));
  const diff = { app: { new: client.id }, scopes: { new: scopes }, audiences: { new: audiences } };
  ctx.audit({ action: "authorize", resourceType: "oauth2_grant", resourceId: id, resourceLabel: client.name, diff });
  return id;
}

/** Records that the signed-in user denied access. */
export function denyAccess(ctx: Context, { client }: Pick<AccessRequest, "client">): void {
  ctx.audit({ action: "deny", resourceType: "oauth2_app", resourceId: client.id, resourceLabel: client.name });
}
