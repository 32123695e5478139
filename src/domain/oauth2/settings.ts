import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { readSiteSetting, siteSetting } from "../deployment/site-settings.js";

/** What owners decide about OAuth2. Null: the configuration of the server decides. */
export interface OAuth2Settings {
  dynamicRegistration: boolean | null;
}

export const oauth2Setting = siteSetting<OAuth2Settings>("oauth2", { dynamicRegistration: null });

/** Whether applications may register themselves. */
export async function mayRegister(ctx: Context): Promise<boolean> {
  const { dynamicRegistration } = await readSiteSetting(ctx, oauth2Setting);
  return dynamicRegistration ?? ctx.config.oauth2DynamicRegistration;
}

/** Throws NOT_FOUND if the deployment is no authorization server. Administration of applications is always available. */
export function requireOAuth2({ config }: Context): void {
  if (!config.oauth2Enabled) throw notFound();
}
