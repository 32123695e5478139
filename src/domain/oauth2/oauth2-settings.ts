import { authorize } from "../authorization/authorization.js";
import { readSiteSetting, replaceSiteSetting, siteSetting } from "../deployment/site-settings.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";

/** The settings of OAuth2 that owners make. Null: the configuration of the server holds. */
export interface OAuth2Settings {
  dynamicRegistration: boolean | null;
}

const oauth2Setting = siteSetting<OAuth2Settings>("oauth2", { dynamicRegistration: null });

/** Whether applications may register themselves. */
export async function mayRegister(ctx: Context): Promise<boolean> {
  const { dynamicRegistration } = await readSiteSetting(ctx, oauth2Setting);
  return dynamicRegistration ?? ctx.config.oauth2DynamicRegistration;
}

export function readOAuth2Settings(ctx: Context): Promise<OAuth2Settings> {
  authorize(ctx.actor, "deployment_config:read");
  return readSiteSetting(ctx, oauth2Setting);
}

/** Replaces the settings. */
export async function updateOAuth2Settings(
  ctx: Context,
  { dynamicRegistration: given }: Partial<OAuth2Settings>,
): Promise<OAuth2Settings> {
  authorize(ctx.actor, "deployment_config:update");
  const settings: OAuth2Settings = { dynamicRegistration: given ?? null };
  await replaceSiteSetting(ctx, oauth2Setting, settings, { resourceType: "oauth2_settings" });
  return settings;
}

/**
 * Throws NOT_FOUND if the deployment is no authorization server. Administration of applications is always available.
 */
export function requireOAuth2({ config }: Context): void {
  if (!config.oauth2Enabled) throw notFound();
}
