import type { Context } from "../kernel/context.js";
import { type Notification, notify } from "../notifications/notify.js";
import { accountNotifications } from "../notifications/templates/account-notifications.js";
import { tellAdministrators } from "./account-notices.js";
import type { UserRow } from "./users.js";

/** The events of an account. */
type AccountEvent = "created" | "deleted" | "suspended" | "activated";

type Affected = Pick<UserRow, "id" | "username" | "name">;

/** Tells owners and user administrators about an account, and its user about the end and the return of access. */
export async function announce(ctx: Context, event: AccountEvent, account: Affected): Promise<void> {
  const { id, username, name } = account;
  tellAdministrators(ctx, {
    template: accountNotifications[event],
    audience: "administrators",
    about: id,
    labels: { [`${event}_account_name`]: name || username, [`${event}_account_user_name`]: username },
  });
  if (event === "suspended" || event === "activated") await notify(ctx, toItsUser(event, account));
}

/** Tells owners and user administrators whose account a person got who may be another one, and what it owns. */
export const announceRevival = (ctx: Context, { id, username, name }: Affected, workspaces: readonly string[]): void =>
  tellAdministrators(ctx, {
    template: accountNotifications.revived,
    audience: "administrators",
    about: id,
    labels: {
      revived_account_name: name || username,
      revived_account_user_name: username,
      workspaces: workspaces.join(", "),
    },
  });

function toItsUser(event: "suspended" | "activated", { id, username, name }: Affected): Notification {
  return {
    template: event === "suspended" ? accountNotifications.ownSuspended : accountNotifications.ownActivated,
    recipients: [id],
    targets: [id],
    labels: { [`${event}_account_name`]: name || username },
    data: {},
  };
}
