import { authorize } from "../authorization/authorization.js";
import { readSiteSetting, replaceSiteSetting, siteSetting } from "../deployment/site-settings.js";
import type { Context } from "../kernel/context.js";
import { dispatchHint } from "./notify.js";
import { flag, inputOf, type Input, required } from "../kernel/values.js";

export interface NotificationSettings {
  /** While true, nothing is delivered outside of inboxes. Messages wait, and are delivered afterwards. */
  notifierPaused: boolean;
}

// The queue of messages reads the stored value by these names.
const settings = siteSetting<NotificationSettings>("notifications", { notifierPaused: false });

export const readNotificationSettings = (ctx: Context): Promise<NotificationSettings> => readSiteSetting(ctx, settings);

export const UpdateNotificationSettings = inputOf({
  notifierPaused: required(flag, "Whether to pause delivery outside of inboxes."),
});
export type UpdateNotificationSettings = Input<typeof UpdateNotificationSettings>;

/** Replaces the settings of notifications. `changed` is false if they were the same. */
export async function updateNotificationSettings(
  ctx: Context,
  { notifierPaused }: NotificationSettings,
): Promise<{ notificationSettings: NotificationSettings; changed: boolean }> {
  authorize(ctx.actor, "deployment_config:update");
  const notificationSettings = { notifierPaused };
  const resource = { resourceType: "notifications_settings" };
  const changed = await replaceSiteSetting(ctx, settings, notificationSettings, resource);
  if (changed) ctx.publish(dispatchHint);
  return { notificationSettings, changed };
}
