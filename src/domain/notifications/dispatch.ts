import { type InferResult, sql, type SqlBool } from "kysely";
import { databaseTime } from "../../runtime/clock.js";
import type { Config } from "../../runtime/config.js";
import type { NotificationPayload } from "../../entities/notifications.js";
import type { Db } from "../../infrastructure/database/database.js";
import { notificationSecrets } from "../encryption/columns.js";
import type { Services } from "../kernel/context.js";
import type { Subscription } from "../../runtime/events.js";
import { newId } from "../kernel/ids.js";
import { type Attempt, backOff, claimIds, type Queue, Worker } from "../kernel/queue.js";
import { after, now } from "../kernel/queries.js";
import { minute } from "../../runtime/durations.js";
import { retryAfterIn } from "../../infrastructure/retry-after.js";
import { isRefusedForGood } from "../../infrastructure/smtp.js";
import { SealBroken } from "../../infrastructure/vault.js";
import { type Joined, joinedText, takeAlong } from "./joined-mails.js";
import { mailOf } from "./mail.js";
import { plainText } from "./markdown.js";
import { allTransports, type Transport } from "./methods.js";
import type { MessageState } from "./messages.js";
import { dispatchHint } from "./notify.js";
import { templateWithId } from "./templates/all-templates.js";
import { unsubscribeUrl } from "./unsubscribing.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const notificationMessages = columnsOf("notificationMessages");

const m = columnsOf("notificationMessages", "m");

/** How an attempt ended. `detail` is stored and shown to administrators: it must not contain secrets. */
type AttemptResult =
  | { outcome: "done" }
  /** Another attempt may succeed, in `retryAfter` milliseconds if the receiver named a time. */
  | { outcome: "retryable"; detail: string; retryAfter?: number }
  /** Another attempt would fail, too. */
  | { outcome: "fatal"; detail: string }
  /** The message must not be delivered any more. */
  | { outcome: "skipped"; detail: string };

/**
 * The open messages by a method that are due, unless delivery is paused. Leased ones are due when the lease expires.
 */
const dueMessages = (db: Db, method: Transport) =>
  db
    .selectFrom("notificationMessages as m")
    .select("m.id")
    // notification_messages_due_index
    .where(sql<SqlBool>`m.state in ('pending', 'temporary_failure', 'leased') and ${m.nextAttemptAt} <= now()`)
    .where("m.method", "=", method)
    .where(
      sql<SqlBool>`not exists (
        select from site_settings where key = 'notifications' and value @> '{"notifierPaused": true}')`,
    )
    .orderBy("m.nextAttemptAt")
    .orderBy("m.id");

const isLeased = sql<SqlBool>`m.state = 'leased'`;
const isOver = sql<SqlBool>`(${m.expiresAt} <= now() or ${m.attemptsLeft} = 0)`;

/** Leases messages, with what decides about their delivery. */
const leasing = (db: Db, method: Transport, most: number, period: number) =>
  db
    .updateTable("notificationMessages as m")
    .from("users as u")
    .whereRef("u.id", "=", "m.userId")
    .where("m.id", "=", claimIds(dueMessages(db, method).where(sql<SqlBool>`not (${isLeased} or ${isOver})`), most))
    .set((eb) => ({
      state: "leased",
      attempts: eb("m.attempts", "+", 1),
      attemptsLeft: eb("m.attemptsLeft", "-", 1),
      leaseToken: newId(),
      nextAttemptAt: after(period),
    }))
    .returning([
      "m.id",
      "m.leaseToken",
      "m.attemptsLeft",
      "m.templateId",
      "m.payload",
      "m.keyId",
      "m.secretNonce",
      "m.secretCiphertext",
      "m.userId",
      "u.username",
      "u.name",
      "u.email",
      "u.status",
      "u.deletedAt",
    ])
    .returning((eb) =>
      eb
        .selectFrom("notificationPreferences as p")
        .select("p.isDisabled")
        .whereRef("p.userId", "=", "m.userId")
        .whereRef("p.templateId", "=", "m.templateId")
        .whereRef("p.method", "=", "m.method")
        .as("isDisabled"),
    );

/** A message to deliver, with those that its mail takes along. */
type Item = InferResult<ReturnType<typeof leasing>>[number] & { along?: readonly Joined[] };

/** Notes when a method last delivered something, or since when it fails, for the health of the deployment: seldom, if nothing changes. */
class Arrivals {
  #notedAt = -Infinity;
  #wasDelivered: boolean | undefined;

  constructor(
    private readonly db: Db,
    private readonly method: Transport,
  ) {}

  /** A receiver that rejects a message for good, such as an unknown address, is no failure of the method. */
  async note(results: readonly AttemptResult[]): Promise<void> {
    const isDelivered = results.some(({ outcome }) => outcome === "done");
    const failed = results.find((result) => result.outcome === "retryable");
    if (!isDelivered && !failed) return;
    const isRecent = performance.now() - this.#notedAt < minute;
    if (this.#wasDelivered === isDelivered && isRecent) return;
    await this.db
      .updateTable("notificationTransports")
      .set((eb) =>
        isDelivered
          ? { deliveredAt: now, failingSince: null, lastFailure: "" }
          : { failingSince: eb.fn.coalesce("failingSince", now), lastFailure: storable(failed!.detail) },
      )
      .where("method", "=", this.method)
      .execute();
    this.#notedAt = performance.now();
    this.#wasDelivered = isDelivered;
  }
}

/** Maximum number of messages that are reaped at a time. */
const mostReaped = 1000;

/** The messages by a method, as a queue. */
class MessageQueue implements Queue<Item, AttemptResult> {
  /** Identifies this process in the log of attempts. */
  readonly #replica = newId();
  readonly #arrivals: Arrivals;

  constructor(
    private readonly db: Db,
    private readonly config: Config,
    private readonly method: Transport,
  ) {
    this.#arrivals = new Arrivals(db, method);
  }

  async lease(most: number): Promise<Item[]> {
    const { db, method, config } = this;
    const leased = await leasing(db, method, most, config.leasePeriod).execute();
    return method === "smtp" ? takeAlong(db, leased, config.leasePeriod) : leased;
  }

  /** Stores the results and logs the attempts. */
  async settle(attempts: ReadonlyArray<Attempt<Item, AttemptResult>>): Promise<void> {
    const rows = attempts.flatMap(({ item, result, duration }) => {
      const delay = result.outcome === "retryable" ? this.#delayAfter(item, result.retryAfter) / 1000 : 0;
      return [item, ...(item.along ?? [])].map((each) => ({
        id: each.id,
        token: item.leaseToken,
        outcome: result.outcome,
        state: stateAfter(each, result),
        detail: result.outcome === "done" ? null : storable(result.detail),
        delay,
        duration: Math.round(duration),
      }));
    });
    const results = sql<(typeof rows)[number]>`json_to_recordset(${JSON.stringify(rows)})`.as<"r">(
      sql`r (id uuid, token uuid, outcome text, state text, detail text, delay float8, duration int)`,
    );
    const isFinal = sql`r.state <> 'temporary_failure'`;
    await this.db
      .with("settled", (db) =>
        db
          .updateTable("notificationMessages as m")
          .from(results)
          .whereRef("m.id", "=", "r.id")
          .whereRef("m.leaseToken", "=", "r.token")
          .set((eb) => ({
            state: eb.ref("r.state"),
            reason: eb.ref("r.detail"),
            leaseToken: null,
            nextAttemptAt: sql<string>`now() + make_interval(secs => r.delay)`,
            finishedAt: sql<string | null>`case when ${isFinal} then now() end`,
            payload: sql`case when r.outcome not in ('done', 'skipped') then m.payload end`,
            keyId: sql<string | null>`case when not ${isFinal} then ${m.keyId} end`,
            secretNonce: sql<Buffer | null>`case when not ${isFinal} then ${m.secretNonce} end`,
            secretCiphertext: sql<Buffer | null>`case when not ${isFinal} then ${m.secretCiphertext} end`,
          }))
          .returning(["m.id", "m.attempts", "r.outcome", "r.detail", "r.duration"]),
      )
      .insertInto("notificationAttempts")
      .columns(["messageId", "number", "outcome", "detail", "duration", "time", "replica"])
      .expression((eb) =>
        eb
          .selectFrom("settled")
          .select(["settled.id", "settled.attempts", "settled.outcome", "settled.detail", "settled.duration"])
          .select([now.as("time"), sql`${this.#replica}::uuid`.as("replica")]),
      )
      .execute();
    await this.#arrivals.note(attempts.map(({ result }) => result));
  }

  /** Logs attempts whose process has ended, and ends messages that have expired or have no attempt left. */
  reap(): Promise<void> {
    const due = dueMessages(this.db, this.method);
    return this.db.transaction().execute(async (db) => {
      const lost = await db
        .updateTable("notificationMessages")
        .where("id", "=", claimIds(due.where(isLeased), mostReaped))
        .set({ state: "pending", leaseToken: null })
        .returning(["id as messageId", "attempts as number"])
        .execute();
      const attempt = {
        outcome: "lost",
        detail: "The process ended before the attempt.",
        duration: 0,
        time: now,
        replica: this.#replica,
      } as const;
      const attempts = lost.map((each) => ({ ...each, ...attempt }));
      if (attempts.length > 0) await db.insertInto("notificationAttempts").values(attempts).execute();
      await db
        .updateTable("notificationMessages")
        .where("id", "=", claimIds(due.where(isOver).where(sql<SqlBool>`not ${isLeased}`), mostReaped))
        .set({
          state: "permanent_failure",
          reason: sql<string>`case when ${notificationMessages.expiresAt} <= now() then 'expired' else 'lost' end`,
          finishedAt: now,
          keyId: null,
          secretNonce: null,
          secretCiphertext: null,
        })
        .execute();
    });
  }

  /** The jitter spreads messages that failed together. */
  #delayAfter({ attemptsLeft }: Item, retryAfter = 0): number {
    const { maxAttempts, retryBase, retryMax } = this.config;
    const delay = backOff(maxAttempts - attemptsLeft - 1, { first: retryBase, most: retryMax });
    return Math.max(delay * (0.5 + Math.random() / 2), Math.min(retryAfter, retryMax));
  }
}

function stateAfter({ attemptsLeft }: Pick<Item, "attemptsLeft">, { outcome }: AttemptResult): MessageState {
  if (outcome === "done") return "sent";
  if (outcome === "skipped") return "inhibited";
  return outcome === "retryable" && attemptsLeft > 0 ? "temporary_failure" : "permanent_failure";
}

/**
 * Makes a detail fit to be stored: it may contain text of a receiver. Postgres rejects NUL, and one rejected row would
 * fail all results of the statement.
 */
const storable = (detail: string): string => detail.replaceAll("\0", "").slice(0, 512);

/**
 * Delivers messages. One per server process, all of which share the work. Each method has attempts of its own, so that
 * the outage of one delays no message by another.
 */
export class Dispatcher {
  readonly #workers: ReadonlyArray<Worker<Item, AttemptResult>>;
  #hints: Subscription | undefined;

  constructor(private readonly services: Services) {
    const { config, database, log, transports } = services;
    this.#workers = allTransports.map(
      (method) =>
        new Worker({
          queue: new MessageQueue(database.db, config, method),
          isAble: () => transports[method] !== undefined,
          attempt: (item, signal) => this.#attempt(method, item, signal),
          concurrency: config.leaseCount,
          interval: config.fetchInterval,
          timeout: config.dispatchTimeout,
          log,
        }),
    );
  }

  start(): void {
    const { events } = this.services;
    const { topic, id } = dispatchHint;
    const wake = () => this.#workers.forEach((worker) => worker.wake());
    this.#hints = events.subscribe(topic, id, wake);
    for (const worker of this.#workers) worker.start();
  }

  async close(): Promise<void> {
    this.#hints?.close();
    await Promise.all(this.#workers.map((worker) => worker.close()));
  }

  async #attempt(method: Transport, item: Item, signal: AbortSignal): Promise<AttemptResult> {
    const reason = reasonToSkip(item);
    if (reason !== undefined) return { outcome: "skipped", detail: reason };
    try {
      const payload = this.#payloadOf(item);
      return await this[method](item, payload, signal);
    } catch (error) {
      return resultOf(error, signal);
    }
  }

  /** Decrypts the payload of messages that carry a secret. */
  #payloadOf({
    id,
    userId,
    payload,
    keyId,
    secretNonce: nonce,
    secretCiphertext: ciphertext,
  }: Item): NotificationPayload {
    if (!keyId || !nonce || !ciphertext) return payload!;
    const place = notificationSecrets.place({ id, ownerId: userId });
    return JSON.parse(this.services.vault.open(place, { keyId, nonce, ciphertext })) as NotificationPayload;
  }

  private async smtp(item: Item, payload: NotificationPayload, signal: AbortSignal): Promise<AttemptResult> {
    const { transports, config } = this.services;
    const { id, userId, email } = item;
    const template = templateWithId(item.templateId)!;
    const unsubscribe = await unsubscribeUrl(this.services, { id: userId, email }, template);
    const { accessUrl } = config;
    const mail = mailOf(textOf(item, payload, config), {
      recipient: item,
      template,
      accessUrl,
      unsubscribeUrl: unsubscribe,
    });
    await transports.smtp!.send({ id, to: email, ...mail }, signal);
    return { outcome: "done" };
  }

  private async webhook(item: Item, payload: NotificationPayload, signal: AbortSignal): Promise<AttemptResult> {
    const { webhook } = this.services.transports;
    const response = await webhook!.post(
      { id: item.id, body: webhookBody(item, payload), at: new Date(databaseTime()) },
      signal,
    );
    const { status, ok, headers } = response;
    if (ok) return { outcome: "done" };
    const detail = `The receiver responded with status ${status}.`;
    return status === 410
      ? { outcome: "fatal", detail }
      : { outcome: "retryable", detail, retryAfter: retryAfterIn(headers) };
  }
}

/** The text of a mail, which may have several messages. */
function textOf({ along = [], templateId }: Item, payload: NotificationPayload, { accessUrl }: Config) {
  if (along.length === 0) return payload;
  const payloads = [payload, ...along.flatMap((each) => each.payload ?? [])];
  return joinedText(payloads, { name: templateWithId(templateId)!.name, inboxUrl: `${accessUrl}/inbox` });
}

function reasonToSkip({ templateId, deletedAt, status, isDisabled }: Item): string | undefined {
  const template = templateWithId(templateId);
  if (!template) return "The template does not exist any more.";
  if (deletedAt !== null) return "The user was deleted.";
  if (status === "suspended" && !template.reachesSuspended) return "The user is suspended.";
  return isDisabled && !template.isMandatory ? "disabled by the user" : undefined;
}

/** Interprets an error of a transport. Messages of errors may contain addresses of mail servers, but no secrets. */
function resultOf(error: unknown, signal: AbortSignal): AttemptResult {
  if (error instanceof SealBroken) return { outcome: "fatal", detail: "The message cannot be decrypted." };
  const detail = signal.aborted ? "The attempt took too long." : (error as Error).message;
  return { outcome: isRefusedForGood(error) ? "fatal" : "retryable", detail };
}

function webhookBody({ id, templateId, userId, ...user }: Item, payload: NotificationPayload): string {
  const { title, body, actions, labels, data, targets } = payload;
  return JSON.stringify({
    _version: "1.1",
    msg_id: id,
    payload: {
      _version: "1.2",
      notification_name: templateWithId(templateId)!.name,
      notification_template_id: templateId,
      user_id: userId,
      user_email: user.email,
      user_name: user.name || user.username,
      user_username: user.username,
      actions,
      labels,
      data,
      targets,
    },
    title: plainText(title),
    title_markdown: title,
    body: plainText(body),
    body_markdown: body,
  });
}
