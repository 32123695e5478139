import { sql, type SqlBool } from "kysely";
import type { Context } from "../kernel/context.js";
import { type Sql, sql as sqlText } from "../kernel/sql.js";
import { type Notification, notify } from "../notifications/notify.js";
import { accountNotifications } from "../notifications/templates/accounts.js";
import type { UserRow } from "./users.js";

/** What happened to an account. */
type AccountEvent = "created" | "deleted" | "suspended" | "activated";

type Affected = Pick<UserRow, "id" | "username" | "name">;

/** Tells owners and user administrators about an account, and its user about the end and the return of access. */
export const announce = (ctx: Context, event: AccountEvent, account: Affected): Promise<unknown> =>
  notify(
    ctx,
    toAdministrators(event, account),
    ...(event === "suspended" || event === "activated" ? [toItsUser(event, account)] : []),
  );

/** `announce` at the end of the mutation, for statements that are text: they select `recipients` without need. */
export const announcement = (ctx: Context, event: AccountEvent, account: Affected): Announcement => ({
  recipients: sqlText`'[]'::json`,
  send: () => ctx.beforeCommit(announceAll, [event, account] as const),
});

const announceAll = async (ctx: Context, accounts: ReadonlyArray<readonly [AccountEvent, Affected]>) => {
  for (const [event, account] of accounts) await announce(ctx, event, account);
};

export interface Announcement {
  recipients: Sql;
  send: (recipients: Recipients) => void;
}

export type Recipients = unknown[];

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
