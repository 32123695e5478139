import { accountNotifications } from "./account-notifications.js";
import { customTemplate, testTemplate } from "./custom-templates.js";
import { deploymentNotifications } from "./deployment-notifications.js";
import { endpointNotifications } from "./endpoint-notifications.js";
import { templateNotifications } from "./provisioning.js";
import { taskNotifications } from "./task-notifications.js";
import type { NotificationTemplate } from "./template.js";
import { workspaceNotifications } from "./workspace-notifications.js";

/** All templates, by name. */
export const templates: readonly NotificationTemplate[] = [
  ...Object.values(workspaceNotifications),
  ...Object.values(accountNotifications),
  ...Object.values(deploymentNotifications),
  ...Object.values(endpointNotifications),
  ...Object.values(templateNotifications),
  testTemplate,
  ...Object.values(taskNotifications),
  customTemplate,
].sort((one, other) => (one.name < other.name ? -1 : 1));

const byId = new Map(templates.map((template) => [template.id, template]));

/** The template with an id, in lower case; `undefined` if there is none. */
export const templateWithId = (id: string): NotificationTemplate | undefined => byId.get(id);
