import { sql, type SqlBool } from "kysely";
import type { Context } from "../kernel/context.js";
import { type Notification, notify } from "../notifications/notify.js";
import { accountNotifications } from "../notifications/templates/account-notifications.js";
import type { UserRow } from "./users.js";

/** The events of an account. */
type AccountEvent = "created" | "deleted" | "suspended" | "activated";

type Affected = Pick<UserRow, "id" | "username" | "name">;

/** Tells owners and user administrators about an account, and its user about the end and the return of access. */
export const announce = (ctx: Context, event: AccountEvent, account: Affected): Promise<unknown> =>
  notify(
    ctx,
    toAdministrators(event, account),
    ...(event === "suspended" || event === "activated" ? [toItsUser(event, account)] : []),
  );

function toAdministrators(event: AccountEvent, { id, username, name }: Affected): Notification {
  return {
    template: accountNotifications[event],
    recipients: sql<SqlBool>`u.site_roles <> '{}' and u.site_roles && '{owner,user-admin}' and u.id <> ${id}`,
    targets: [id],
    labels: { [`${event}_account_name`]: name || username, [`${event}_account_user_name`]: username },
    data: {},
  };
}

function toItsUser(event: "suspended" | "activated", { id, username, name }: Affected): Notification {
  return {
    template: event === "suspended" ? accountNotifications.ownSuspended : accountNotifications.ownActivated,
    recipients: [id],
    targets: [id],
    labels: { [`${event}_account_name`]: name || username },
    data: {},
  };
}
