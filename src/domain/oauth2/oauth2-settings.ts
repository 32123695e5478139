import { authorize } from "../authorization/authorization.js";
import { readSiteSetting, replaceSiteSetting, siteSetting } from "../deployment/site-settings.js";
import type { Context } from "../kernel/context.js";
import { notFound, Problems } from "../kernel/errors.js";
import { canonicalResource, defaultResourceProblem, resourceUri } from "./audiences.js";
import { flag, inputOf, type Input, optional } from "../kernel/values.js";

export const UpdateOAuth2Settings = inputOf({
  dynamicRegistration: optional(
    flag,
    "Whether applications may register themselves. Default: the configuration of the server decides.",
  ),
  defaultResource: optional(
    resourceUri,
    "URL that tokens of applications that registered themselves are for, if their requests name no resource: of this server, or a resource indicator of an application. Default: the whole of this server.",
  ),
});
export type UpdateOAuth2Settings = Input<typeof UpdateOAuth2Settings>;

/** The settings of OAuth2 that owners make. Null: the configuration of the server holds. */
export interface OAuth2Settings {
  dynamicRegistration: boolean | null;
  /** The resource of requests of applications that registered themselves, if they name none. In canonical form. */
  defaultResource: string | null;
}

const oauth2Setting = siteSetting<OAuth2Settings>("oauth2", { dynamicRegistration: null, defaultResource: null });

/** Whether applications may register themselves. */
export async function mayRegister(ctx: Context): Promise<boolean> {
  const { dynamicRegistration } = await readSiteSetting(ctx, oauth2Setting);
  return dynamicRegistration ?? ctx.config.oauth2DynamicRegistration;
}

/** The default resource of applications that registered themselves; null for none. */
export async function defaultResource(ctx: Context): Promise<string | null> {
  return (await readSiteSetting(ctx, oauth2Setting)).defaultResource;
}

export function readOAuth2Settings(ctx: Context): Promise<OAuth2Settings> {
  authorize(ctx.actor, "deployment_config:read");
  return readSiteSetting(ctx, oauth2Setting);
}

/** Replaces the settings. */
export async function updateOAuth2Settings(ctx: Context, given: UpdateOAuth2Settings): Promise<OAuth2Settings> {
  authorize(ctx.actor, "deployment_config:update");
  const problems = new Problems();
  if (given.defaultResource) problems.add("defaultResource", await defaultResourceProblem(ctx, given.defaultResource));
  problems.throwIfAny();
  const settings: OAuth2Settings = {
    dynamicRegistration: given.dynamicRegistration ?? null,
    defaultResource: canonicalResource(given.defaultResource ?? "") ?? null,
  };
  await replaceSiteSetting(ctx, oauth2Setting, settings, { resourceType: "oauth2_settings" });
  return settings;
}

/**
 * Throws NOT_FOUND if the deployment is no authorization server. Administration of applications is always available.
 */
export function requireOAuth2({ config }: Context): void {
  if (!config.oauth2Enabled) throw notFound();
}
