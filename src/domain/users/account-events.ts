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

/** Tells owners and user administrators whose account a person got who may be another one, and what it owns. */
export const announceRevival = (
  ctx: Context,
  { id, username, name }: Affected,
  workspaces: readonly string[],
): Promise<unknown> =>
  notify(ctx, {
    template: accountNotifications.revived,
    recipients: administrators(id),
    targets: [id],
    labels: {
      revived_account_name: name || username,
      revived_account_user_name: username,
      workspaces: workspaces.join(", "),
    },
    data: {},
  });

/** The condition that a user `u`, other than the one with the id, administers accounts. */
const administrators = (id: string) =>
  sql<SqlBool>`u.site_roles <> '{}' and u.site_roles && '{owner,user-admin}' and u.id <> ${id}`;

function toAdministrators(event: AccountEvent, { id, username, name }: Affected): Notification {
  return {
    template: accountNotifications[event],
    recipients: administrators(id),
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
