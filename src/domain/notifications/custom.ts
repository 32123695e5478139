import { createHash } from "node:crypto";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { authorize } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { conflict, Problems, rateLimited } from "../kernel/errors.js";
import { day, purge } from "../kernel/purge.js";
import { proseProblem } from "../kernel/text.js";
import { type Sql, sql } from "../kernel/sql.js";
import { type Prepared, prepareNotifications, type Recipient } from "./notify.js";
import { customTemplate } from "./templates/custom.js";

/** The texts of a custom notification; one of the two is required. */
export interface CustomContent {
  /** Markdown, one line. */
  title?: string | null;
  /** Markdown. */
  message?: string | null;
}

/**
 * Sends a notification with custom text to the caller. Returns its id in the inbox; `undefined` if the caller has
 * disabled such notifications there, and for a repeated request: within 24 hours, only one request with the same
 * idempotency key and content takes effect. Throws CONFLICT if the key was used for other content, RATE_LIMITED above 20
 * per minute.
 */
export async function sendCustomNotification(
  ctx: Context,
  content: CustomContent | null | undefined,
  idempotencyKey?: string | null,
): Promise<string | undefined> {
  const { userId } = requireUser(ctx.actor);
  authorize(ctx.actor, "notification_message:create", { ownerId: userId });
  const { title, message } = checked(content, idempotencyKey);

  if (idempotencyKey && (await isRepeat(ctx, userId, idempotencyKey, [title, message]))) return undefined;
  const notification = prepareNotifications(ctx, {
    template: customTemplate,
    recipients: sql`u.id = ${userId}`,
    targets: [],
    labels: { custom_title: title.trim(), custom_message: message },
    data: {},
  });
  const recipients = await takeTurn(ctx, userId, notification);
  const id = notification.sendForReading(recipients).find(({ method }) => method === "inbox")?.id;
  ctx.audit({ action: "create", resourceType: "inbox_notification", resourceId: id });
  return id;
}

type Texts = { title: string; message: string };

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

/** Whether the request repeats an earlier one with the same key. Waits for concurrent requests with the key. */
async function isRepeat(ctx: Context, userId: string, key: string, texts: string[]): Promise<boolean> {
  const hash = createHash("sha256").update(JSON.stringify(texts)).digest();
  if (await ctx.row(claimKey, userId, key, hash)) return false;
  const earlier = await ctx.row(selectRequestHash, userId, key);
  if (earlier?.requestHash.equals(hash)) return true;
  throw conflict("The idempotency key was used for another request.", [
    { field: "idempotencyKey", detail: "Must be new, or repeat the request it was used for." },
  ]);
}

// Stores the times of the last 20, newest first: another is allowed once the oldest is a minute old. Uses the time of the
// statement, because the transaction may have waited for others that began later.
const claimTurn = (userId: string, recipients: Sql): Sql => sql`
  with turn as (
    insert into inbox_cursors as mine (user_id, last_seq, unread_count, custom_sent_at)
    values (${userId}, 0, 0, array[clock_timestamp()])
    on conflict (user_id) do update set custom_sent_at = (clock_timestamp() || mine.custom_sent_at)[1:20]
    where (mine.custom_sent_at[20] > clock_timestamp() - interval '1 minute') is not true
    returning true
  )
  select ${recipients} as recipients from turn`;

const selectNextTurn = statement<{ seconds: number }>(`
  select extract(epoch from custom_sent_at[20] + interval '1 minute' - clock_timestamp())::float8 as seconds
  from inbox_cursors where user_id = $1`);

/** Returns the recipients. Throws RATE_LIMITED if the user has sent 20 custom notifications in the last minute. */
async function takeTurn(ctx: Context, userId: string, { recipients }: Prepared): Promise<Recipient[][]> {
  const [turn] = await ctx.select<{ recipients: Recipient[][] }>(claimTurn(userId, recipients));
  if (turn) return turn.recipients;
  const { seconds = 1 } = (await ctx.row(selectNextTurn, userId)) ?? {};
  throw rateLimited(seconds, "At most 20 custom notifications may be sent in a minute.");
}

/** Deletes expired idempotency keys. */
export const idempotencyKeyPurge = purge("idempotency_keys", { by: "created_at", keptFor: day });
