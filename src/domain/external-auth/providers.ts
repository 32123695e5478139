import { createHash } from "node:crypto";
import { hasFeature, requireFeature } from "../entitlements/requirements.js";
import type { Context, Services } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { requireUser } from "../kernel/actor.js";
import { authorize } from "../authorization/authorization.js";
import type { ExternalAuthProvider } from "./configuration.js";

export type { ExternalAuthProvider } from "./configuration.js";
export { ExternalAuthProviderType } from "./types.js";

type Having = { services: Pick<Services, "externalAuth" | "entitlements"> };

/** Lists the configured providers, for all users who may have links. */
export function listProviders(ctx: Context): readonly ExternalAuthProvider[] {
  callerWho(ctx, "external_auth_link:read");
  return ctx.services.externalAuth.providers;
}

/** Whether accounts can be linked by a redirect of the browser, which needs the secret of the client. */
export const redirects = ({ clientSecret }: ExternalAuthProvider): boolean => clientSecret !== "";

/** Returns the id of the caller, a user who may act on its own links. Throws FORBIDDEN otherwise. */
export function callerWho(ctx: Context, permission: `external_auth_link:${"read" | "update" | "delete"}`): string {
  const { userId } = requireUser(ctx.actor);
  authorize(ctx.actor, permission, { ownerId: userId });
  return userId;
}

/** The description of an ID of a provider in inputs. */
export const providerRule = "ID of the provider, in any letter case.";

/** Finds a provider by its id, in any letter case. Throws NOT_FOUND. */
export function findProvider({ services }: Having, id: string): ExternalAuthProvider {
  const provider = services.externalAuth.find(id);
  if (!provider) throw notFound();
  return provider;
}

/** Whether the licenses allow to link accounts at the provider and to use them. The first one needs no license. */
export const isLicensed = (having: Having, { position }: ExternalAuthProvider): boolean =>
  position === 0 || hasFeature(having, "multiple_external_auth");

/** Throws FORBIDDEN unless the licenses allow to use the provider. */
export function requireLicensed(having: Having, { position }: ExternalAuthProvider): void {
  if (position > 0) requireFeature(having, "multiple_external_auth");
}

/** Page on which a user links an account. */
export const connectUrlOf = ({ config }: Pick<Context, "config">, { id }: ExternalAuthProvider): string =>
  `${config.accessUrl}/external-auth/${id}`;

/** Whether access tokens can be validated. */
export const allowsValidation = ({ validateUrl }: ExternalAuthProvider): boolean => validateUrl !== "";

/** Logs a warning if the last server that started had other providers: replicas must agree. */
export async function compareConfiguration(ctx: Context): Promise<void> {
  const { config, log } = ctx;
  const agreed = config.externalAuth.map((each) => ({ ...each, clientSecret: undefined, regex: each.regex?.source }));
  const hash = createHash("sha256").update(JSON.stringify(agreed)).digest();
  const former = await ctx.db.selectFrom("deployment").select("externalAuthHash").executeTakeFirstOrThrow();
  await ctx.db.updateTable("deployment").set({ externalAuthHash: hash }).execute();
  if (former.externalAuthHash && !former.externalAuthHash.equals(hash))
    log.warn("The providers of external authentication differ from those of the last start. All replicas must agree.");
}
