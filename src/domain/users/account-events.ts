import type { Context } from "../kernel/context.js";
import { sql } from "../kernel/sql.js";
import { type Notification, type Prepared, prepareNotifications, type Recipient } from "../notifications/notify.js";
import { accountNotifications } from "../notifications/templates/accounts.js";
import type { UserRow } from "./users.js";

/** What a statement selects as the recipients of an announcement. */
export type Recipients = Recipient[][];

/** What happened to an account. */
type AccountEvent = "created" | "deleted" | "suspended" | "activated";

type Affected = Pick<UserRow, "id" | "username" | "name">;

/**
 * Prepares to tell owners and user administrators about an account, and its user about the end and the return of access.
 */
export const announcement = (ctx: Context, event: AccountEvent, account: Affected): Prepared =>
  prepareNotifications(
    ctx,
    toAdministrators(event, account),
    ...(event === "suspended" || event === "activated" ? [toItsUser(event, account)] : []),
  );

function toAdministrators(event: AccountEvent, { id, username, name }: Affected): Notification {
  return {
    template: accountNotifications[event],
    recipients: sql`u.site_roles <> '{}' and u.site_roles && '{owner,user-admin}' and u.id <> ${id}`,
    targets: [id],
    labels: { [`${event}_account_name`]: name || username, [`${event}_account_user_name`]: username },
    data: {},
  };
}

function toItsUser(event: "suspended" | "activated", { id, username, name }: Affected): Notification {
  return {
    template: event === "suspended" ? accountNotifications.ownSuspended : accountNotifications.ownActivated,
    recipients: sql`u.id = ${id}`,
    targets: [id],
    labels: { [`${event}_account_name`]: name || username },
    data: {},
  };
}
