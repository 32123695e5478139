import { createHash } from "node:crypto";
import type { Context, Services } from "../kernel/context.js";
import { authorize } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { conflict, DomainError, forbidden, Problems } from "../kernel/errors.js";
import { proseProblem } from "../kernel/text.js";
import { addToInbox } from "./inbox.js";

/** What a user wants to be told. One of the two is enough. */
export interface CustomContent {
  /** Markdown, one line. */
  title?: string | null;
  /** Markdown. */
  message?: string | null;
}

const template = {
  id: "39b1e189-c857-4b0c-877a-511144c18516",
  name: "Custom Notification",
  icon: "DEFAULT_ICON_OTHER",
};

/**
 * Notifies the caller of a text of its own. Requests with the same key within 24 hours are carried out once. Gives the
 * id of the new inbox item; none for a repeat.
 */
export async function sendCustomNotification(
  ctx: Context,
  content: CustomContent | null | undefined,
  idempotencyKey?: string | null,
): Promise<string | undefined> {
  const { userId, isSystem } = ctx.actor;
  authorize(ctx.actor, "notification_message:create", { ownerId: userId ?? null });
  if (!userId || isSystem) throw forbidden();
  const { title, message } = checked(content, idempotencyKey);

  if (idempotencyKey && (await isRepeat(ctx, userId, idempotencyKey, [title, message]))) return undefined;
  const [, id] = await Promise.all([
    keepPace(ctx, userId),
    addToInbox(ctx, {
      userId,
      templateId: template.id,
      targets: [],
      title: oneLine(title) || template.name,
      content: message,
      icon: template.icon,
      actions: [],
    }),
  ]);
  ctx.audit({ action: "create", resourceType: "inbox_notification", resourceId: id });
  return id;
}

type Texts = { title: string; message: string };

const oneLine = (text: string) => text.replace(/\s+/g, " ").trim();

function checked(content: CustomContent | null | undefined, key: string | null | undefined): Texts {
  const problems = new Problems();
  const [title, message] = [content?.title ?? "", content?.message ?? ""];
  if (!content) problems.add("content", "Is required.");
  else if (title.trim() === "" && message.trim() === "") {
    const rule = "A title or a message is required.";
    problems.add("content.title", rule);
    problems.add("content.message", rule);
  } else {
    problems.add("content.title", proseProblem(title, 120));
    problems.add("content.message", proseProblem(message, 2000));
  }
  problems.add("idempotencyKey", proseProblem(key ?? "", 255));
  problems.throwIfAny();
  return { title, message };
}

const claimKey = statement<{ claimed: true }>(`
  insert into idempotency_keys as kept (user_id, key, request_hash, created_at) values ($1, $2, $3, now())
  on conflict (user_id, key) do update set request_hash = excluded.request_hash, created_at = excluded.created_at
  where kept.created_at <= now() - interval '24 hours'
  returning true as claimed`);

const selectRequestHash = statement<{ requestHash: Buffer }>(
  `select request_hash as "requestHash" from idempotency_keys where user_id = $1 and key = $2`,
);

/** Whether this very request was carried out under the key before. Of parallel ones, one goes first and the rest wait. */
async function isRepeat(ctx: Context, userId: string, key: string, texts: string[]): Promise<boolean> {
  const hash = createHash("sha256").update(JSON.stringify(texts)).digest();
  if (await ctx.row(claimKey, userId, key, hash)) return false;
  const earlier = await ctx.row(selectRequestHash, userId, key);
  if (earlier?.requestHash.equals(hash)) return true;
  throw conflict("The idempotency key was used for another request.", [
    { field: "idempotencyKey", detail: "Must be new, or repeat the request it was used for." },
  ]);
}

// The times of the last 20, newest first: there is room again when the oldest of them is a minute old. The time is that
// at which a turn is taken, not that of its transaction, which may have waited for others with a later one.
const claimTurn = statement<{ claimed: true }>(`
  insert into inbox_cursors as mine (user_id, last_seq, unread_count, custom_sent_at) values ($1, 0, 0, array[clock_timestamp()])
  on conflict (user_id) do update set custom_sent_at = (clock_timestamp() || mine.custom_sent_at)[1:20]
  where (mine.custom_sent_at[20] > clock_timestamp() - interval '1 minute') is not true
  returning true as claimed`);

const selectNextTurn = statement<{ seconds: number }>(`
  select greatest(1, ceil(extract(epoch from custom_sent_at[20] + interval '1 minute' - clock_timestamp())))::int as seconds
  from inbox_cursors where user_id = $1`);

/** Throws if the user has sent 20 within a minute. */
async function keepPace(ctx: Context, userId: string): Promise<void> {
  if (await ctx.row(claimTurn, userId)) return;
  throw new DomainError("RATE_LIMITED", "Too many requests.", {
    detail: "At most 20 custom notifications may be sent in a minute.",
    retryAfter: (await ctx.row(selectNextTurn, userId))?.seconds ?? 1,
  });
}

const deleteOldKeys = statement<{ key: string }>(`
  delete from idempotency_keys where (user_id, key) in (
    select user_id, key from idempotency_keys where created_at <= now() - interval '24 hours' limit 1000
    for update skip locked
  )
  returning key`);

/** Forgets requests whose key may be used again, in small steps. */
export async function deleteOldIdempotencyKeys({ database }: Pick<Services, "database">): Promise<void> {
  await database.exhaust(deleteOldKeys);
}
