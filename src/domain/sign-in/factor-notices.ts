import type { Context } from "../kernel/context.js";
import { notify } from "../notifications/notify.js";
import { accountNotifications } from "../notifications/templates/account-notifications.js";
import type { FoundUser } from "../users/users.js";

/** Tells a user that something happened to the second factors. */
export const tellUser = (
  ctx: Context,
  { id, username, name }: Pick<FoundUser, "id" | "username" | "name">,
  event: "factorAdded" | "factorRemoved" | "recoveryCodeUsed" | "passkeyAdded" | "passkeyRemoved",
  { passkey, ...data }: { passkey?: string; isAuthenticator?: boolean; isPasskey?: boolean; isLeft?: boolean } = {},
) =>
  notify(ctx, {
    template: accountNotifications[event],
    recipients: [id],
    targets: [id],
    labels: { account_name: name || username, ...(passkey !== undefined && { passkey }) },
    data,
  });
