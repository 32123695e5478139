import { hash } from "node:crypto";
import { databaseTime } from "../../clock.js";
import { auditedAs } from "../audit/audit.js";
import type { Context } from "../kernel/context.js";
import type { Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { notFound } from "../kernel/errors.js";
import { folded } from "../kernel/folding.js";
import { day } from "../kernel/purge.js";
import type { NotificationTemplate } from "./templates/template.js";
import { templateWithId } from "./templates/templates.js";

/** The path of the page on which recipients of mail unsubscribe. */
const path = "/notifications/unsubscribe";

/** What the tokens in links are sealed for. */
const purpose = "unsubscribe";

/** How long links work, in milliseconds: longer than anyone keeps an unread mail. */
const lifetime = 180 * day;

interface Recipient {
  id: string;
  email: string;
}

/** Tells addresses apart in links, without their text. */
const markOf = (email: string) => hash("sha256", folded(email), "base64url").slice(0, 22);

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
  template: NotificationTemplate;
}

const emailOf = statement<Pick<Recipient, "email">>("select email from users where id = $1 and deleted_at is null");

/** Reads the token of a link. Throws NOT_FOUND if it is invalid, has expired, or was mailed to a former address. */
export async function readUnsubscription(ctx: Context, token: string): Promise<Unsubscription> {
  const opened = await ctx.services.seals.open(purpose, token);
  const [userId = "", templateId = "", expiry, address] = opened?.split("~") ?? [];
  const template = templateWithId(templateId);
  if (!template || template.isMandatory || !(Number(expiry) > databaseTime())) throw notFound();
  const user = await ctx.row(emailOf, userId);
  // Earlier releases did not bind links to an address.
  if (!user || (address !== undefined && address !== markOf(user.email))) throw notFound();
  return { userId, template };
}

const turnOff = statement<{ username: string }>(`
  with stored as (
    insert into notification_preferences as p (user_id, template_id, method, is_disabled, updated_at)
    select id, $2, 'smtp', true, now() from users where id = $1 and deleted_at is null
    on conflict (user_id, template_id, method) do update set is_disabled = true, updated_at = now()
      where not p.is_disabled
    returning user_id
  )
  select u.username from users u join stored on stored.user_id = u.id`);

/** Turns off the mails of a template for the user of a token. Repeating it has no effect. */
export async function unsubscribe(ctx: Context, token: string): Promise<Unsubscription> {
  const { userId, template } = await readUnsubscription(ctx, token);
  const changed = await ctx.row(turnOff, userId, template.id);
  if (changed) {
    const diff = { [`${template.name} (smtp)`]: { new: false } };
    const audited = auditedAs("notification_preference", userId, changed.username);
    ctx.audit({ action: "update", actorId: userId, ...audited, diff });
  }
  return { userId, template };
}
