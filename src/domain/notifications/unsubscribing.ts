import { hash } from "node:crypto";
import { databaseTime } from "../../runtime/clock.js";
import { auditedAs } from "../kernel/audit.js";
import type { Context, Services } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { foldCase } from "../../runtime/text.js";
import { now } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import type { NotificationTemplate } from "./templates/template.js";
import { templateWithId } from "./templates/all-templates.js";
import { inputOf, pasted, required, secret, type Input } from "../kernel/values.js";

export const UnsubscribeFromNotification = inputOf({
  token: required(pasted(secret), "Token of the link in a mail."),
});
export type UnsubscribeFromNotification = Input<typeof UnsubscribeFromNotification>;

/** The token of which a user wants to know what it turns off. */
export const UnsubscriptionQuery = inputOf({ token: required(pasted(secret), "Token of the link.") });
export type UnsubscriptionQuery = Input<typeof UnsubscriptionQuery>;

/** The path of the page on which recipients of mail unsubscribe. */
const path = "/notifications/unsubscribe";

/** The purpose of the tokens in links. */
const purpose = "unsubscribe";

/** How long links work, in milliseconds: longer than anyone keeps an unread mail. */
const lifetime = 180 * day;

interface Recipient {
  id: string;
  email: string;
}

/** Tells addresses apart in links, without their text. */
const markOf = (email: string) => hash("sha256", foldCase(email), "base64url").slice(0, 22);

/**
 * The link with which the recipient of a mail turns off the mails of its template, without signing in (RFC 8058).
 * `undefined` for templates that cannot be turned off.
 */
export async function unsubscribeUrl(
  { seals, config }: Pick<Services, "seals" | "config">,
  { id, email }: Recipient,
  template: NotificationTemplate,
): Promise<string | undefined> {
  if (template.isMandatory) return undefined;
  const token = await seals.seal(purpose, [id, template.id, databaseTime() + lifetime, markOf(email)].join("~"));
  return `${config.accessUrl}${path}?token=${token}`;
}

/** The mails that a token turns off. */
export interface Unsubscription {
  userId: string;
  username: string;
  template: NotificationTemplate;
}

/** Reads the token of a link. Throws NOT_FOUND if it is invalid, has expired, or was mailed to a former address. */
export async function readUnsubscription(ctx: Context, token: string): Promise<Unsubscription> {
  const opened = await ctx.services.seals.open(purpose, token);
  const [userId = "", templateId = "", expiry, address] = opened?.split("~") ?? [];
  const template = templateWithId(templateId);
  if (!template || template.isMandatory || !(Number(expiry) > databaseTime())) throw notFound();
  const user = await ctx.db
    .selectFrom("users")
    .select(["email", "username"])
    .where("id", "=", userId)
    .where("deletedAt", "is", null)
    .executeTakeFirst();
  // Earlier releases did not bind links to an address.
  if (!user || (address !== undefined && address !== markOf(user.email))) throw notFound();
  return { userId, username: user.username, template };
}

/** Turns off the mails of a template for the user of a token. Repeating it has no effect. */
export async function unsubscribe(ctx: Context, token: string): Promise<Unsubscription> {
  const found = await readUnsubscription(ctx, token);
  const { userId, username, template } = found;
  const off = { isDisabled: true, updatedAt: now };
  const changed = await ctx.db
    .insertInto("notificationPreferences")
    .values({ userId, templateId: template.id, method: "smtp", ...off })
    .onConflict((conflict) =>
      conflict
        .columns(["userId", "templateId", "method"])
        .doUpdateSet(off)
        .where("notificationPreferences.isDisabled", "=", false),
    )
    .returning("userId")
    .executeTakeFirst();
  if (changed) {
    const diff = { [`${template.name} (smtp)`]: { new: false } };
    const audited = auditedAs("notification_preference", userId, username);
    ctx.audit({ action: "update", actorId: userId, ...audited, diff });
  }
  return found;
}
