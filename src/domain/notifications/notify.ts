import { type Expression, type Insertable, type Selectable, sql, type SqlBool } from "kysely";
import { databaseTime, instantOf } from "../../runtime/clock.js";
import type { NotificationPayload } from "../../entities/notifications.js";
import type { Schema } from "../../entities/schema.js";
import type { Db } from "../../infrastructure/database/database.js";
import { notificationSecrets } from "../encryption/columns.js";
import { userIdOf } from "../kernel/actor.js";
import { anyOf, insertAll, now } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import type { Context } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { isFormerAddress } from "../users/names.js";
import { type DeliveryMethod, transportFor } from "./methods.js";
import { delayAlike } from "./joined-mails.js";
import { render, type Subject, type Variables } from "./rendering.js";
import { type EventObject, insertTold, notifiedEvent, type NotifiedEventRow } from "./notified-events.js";
import type { EventTemplate, PlainTemplate } from "./templates/template.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const users = columnsOf("users");
const organizationMembers = columnsOf("organizationMembers");

const inboxCursors = columnsOf("inboxCursors", "inboxCursors");
const excluded = columnsOf("inboxCursors", "excluded");
const u = columnsOf("users", "u");
const p = columnsOf("notificationPreferences", "p");

/** The kind of an event, and its object if endpoints receive the kind. */
type About = { template: PlainTemplate; object?: never } | { template: EventTemplate; object: EventObject };

/** An event that users are told about. */
export type Notification = About & Told;

interface Told extends Subject {
  /** The ids of its recipients, or the condition under which a user `u` is one. */
  recipients: readonly string[] | Expression<SqlBool>;
  /** The id of a user who is none of them. */
  except?: string;
  /** The id of the user who caused the event, if it is another one than the caller. */
  initiatorId?: string | null;
  /** Ids of the objects that it is about. The first is `data.id` of the texts: the links lead to it. */
  targets: readonly string[];
  /** Of events of a template with the same key, a user receives the first. */
  dedupeKey?: string;
  /** Milliseconds after which it is not delivered any more. Default: 7 days. */
  lifetime?: number;
  /** Whether its texts are stored encrypted until they are delivered, and it stays out of the inbox. */
  isSecret?: true;
}

/**
 * The condition that a user `u`, other than the caller, administers the templates of an organization: in the deployment
 * or in the organization.
 */
export const templateAdministrators = ({ actor }: Context, organizationId: string | Expression<string>) => sql<SqlBool>`
  u.id is distinct from ${userIdOf(actor) ?? null}::uuid and u.id = any(array(
    select id from users where ${users.siteRoles} <> '{}' and 'template-admin' = any(${users.siteRoles})
    union all select user_id from organization_members where ${organizationMembers.organizationId} = ${organizationId} and roles <> '{}'
      and roles && '{organization-template-admin,organization-admin}'))`;

/** Dedupe keys for one notification about a subject per minute or hour of UTC. */
export const oncePerMinute = (subject: string): string => `${subject} ${utc("2026-01-02T03:04".length)}`;
export const oncePerHour = (subject: string): string => `${subject} ${utc("2026-01-02T03".length)}`;

const utc = (length: number): string => new Date(databaseTime()).toISOString().slice(0, length);

/** A message of an event, which will be delivered or is in an inbox. */
export interface Message {
  id: string;
  userId: string;
  method: DeliveryMethod;
}

/**
 * Notifies users of events in the transaction of a mutation. Returns the messages that will be delivered or are in an
 * inbox: none for repeated events with the same `dedupeKey`. They arrive in inboxes with the commit.
 */
export async function notify(ctx: Context, ...notifications: readonly Notification[]): Promise<Message[]> {
  const { messages, arrivals } = await send(ctx, notifications);
  if (arrivals.length > 0) ctx.beforeCommit(addToInboxes, ...arrivals);
  return messages;
}

/**
 * Notifies a single recipient, in whose inbox the message is immediately: for mutations that return it. Nothing of what only
 * goes to the inbox is in the delivery log. `advance` moves the cursor of the recipient by the number of its messages.
 */
export async function notifyNow(
  ctx: Context,
  notification: Notification,
  advance: (number: number) => Promise<Cursor>,
): Promise<Message[]> {
  const planned = await plan(ctx, [notification]);
  const isInboxOnly = planned.every(({ arrival }) => arrival !== undefined);
  const { messages, arrivals } = isInboxOnly ? reach(ctx, planned) : await store(ctx, planned);
  const cursor = await advance(arrivals.length);
  if (arrivals.length > 0) await insertArrivals(ctx, arrivals, [cursor]);
  return messages;
}

/** Stores the messages of events. */
async function send(ctx: Context, notifications: readonly Notification[]) {
  const planned = await plan(ctx, notifications);
  return planned.length === 0 ? { messages: [], arrivals: [] } : store(ctx, planned);
}

async function store(ctx: Context, planned: readonly Planned[]) {
  const rows = planned.map(({ row }) => row);
  await delayAlike(ctx.db, rows);
  const events = [...new Set(planned.flatMap(({ event }) => event ?? []))];
  const inserted = (db: Pick<Db, "insertInto">) =>
    insertAll(db, "notificationMessages", rows)
      .onConflict((conflict) =>
        conflict
          .columns(["templateId", "userId", "method", "dedupeKey"])
          .where("dedupeKey", "is not", null)
          .doNothing(),
      )
      .returning(["id", "eventId"]);
  // In one statement: there is an event if a message was added.
  const added =
    events.length === 0
      ? await inserted(ctx.db).execute()
      : await ctx.db
          .with("added", inserted)
          .with("told", (db) => insertTold(db, events))
          .selectFrom("added")
          .select("id")
          .execute();
  if (events.length > 0) ctx.afterCommit(ctx.services.auditNumbers.soon);
  const ids = new Set(added.map(({ id }) => id));
  return reach(
    ctx,
    planned.filter(({ row }) => ids.has(row.id)),
  );
}

/** Wakes those who wait for messages, after the commit. */
function reach(ctx: Context, planned: readonly Planned[]) {
  const effective = planned.filter(({ row }) => row.state === "pending" || row.state === "sent");
  const arrivals = effective.flatMap(({ arrival }) => arrival ?? []);
  const reached = new Set(arrivals.map(({ userId }) => userId));
  ctx.publish(...Array.from(reached, (userId) => ({ topic: "inbox", id: `n:${userId}` }) as const));
  if (effective.some(({ row }) => row.state === "pending")) ctx.publish(dispatchHint);
  return { messages: effective.map(({ row: { id, userId, method } }) => ({ id, userId, method })), arrivals };
}

/** The hint that there are messages to deliver. */
export const dispatchHint = { topic: "notifications", id: "dispatch" } as const;

/** A notification that arrives in an inbox. */
type Arrival = Omit<Insertable<Schema["inbox"]>, "seq" | "epoch" | "readAt">;

/** Where the messages of an inbox begin that arrive after those that it has: `lastSeq` is that of the last one to arrive. */
export type Cursor = Pick<Selectable<Schema["inboxCursors"]>, "userId" | "lastSeq" | "epoch">;

/** The lowest `seq` of a message that arrives now, and how the cursor of an inbox that is there moves. */
export const lowestSeq = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;
export const movedCursor = {
  lastSeq: sql<number>`greatest(${inboxCursors.lastSeq} + ${excluded.unreadCount}, ${excluded.lastSeq})`,
  unreadCount: sql<number>`${inboxCursors.unreadCount} + ${excluded.unreadCount}`,
};

/**
 * Adds notifications to inboxes. The row of the cursor is the lock of an inbox. Inboxes are locked in the order of
 * their users, and until the commit, which follows, so that `seq` follows the order of commits. `seq` is at least the
 * time in milliseconds, so that no value is reused after the restore of a backup, and clients can resume after a value
 * from before the restore.
 */
async function addToInboxes(ctx: Context, arrivals: readonly Arrival[]): Promise<void> {
  const byUser = Map.groupBy(arrivals, ({ userId }) => userId);
  const { db } = ctx;
  const numbers = Array.from(byUser.values(), ({ length }) => length);
  const inboxes = sql<{ userId: string; number: number }>`
    unnest(${[...byUser.keys()]}::uuid[], ${numbers}::int[])`.as<"inbox">(sql`inbox (user_id, number)`);
  const advanced = await db
    .insertInto("inboxCursors")
    .columns(["userId", "lastSeq", "unreadCount"])
    .expression(
      db
        .selectFrom(inboxes)
        .select(["inbox.userId", lowestSeq.as("seq"), "inbox.number"])
        .orderBy("inbox.userId"),
    )
    .onConflict((conflict) => conflict.column("userId").doUpdateSet(movedCursor))
    .returning(["userId", "lastSeq", "epoch"])
    .execute();
  await insertArrivals(ctx, arrivals, advanced);
}

/** Inserts notifications into inboxes whose cursors were moved. */
async function insertArrivals({ db }: Context, arrivals: readonly Arrival[], advanced: readonly Cursor[]) {
  const byUser = Map.groupBy(arrivals, ({ userId }) => userId);
  const rows = advanced.flatMap(({ userId, lastSeq, epoch }) =>
    byUser.get(userId)!.map((arrival, index, { length }) => ({ ...arrival, seq: lastSeq - length + index + 1, epoch })),
  );
  await insertAll(db, "inbox", rows).execute();
}

/** Maximum number of recipients of an event. */
const mostRecipients = 10_000;

/** Selects the recipients of an event, `nr` in a list. */
function recipientsOf({ db, actor }: Context, { template, recipients }: Notification, nr: number) {
  const isRecipient = "toOperationNode" in recipients ? recipients : sql<SqlBool>`u.id = ${anyOf(recipients)}`;
  const found = db
    .selectFrom("users as u")
    .where(isRecipient)
    .where("u.deletedAt", "is", null)
    .where(sql<SqlBool>`not ${u.isSystem}`)
    .select(["u.id", "u.username", "u.name", "u.email", "u.status", now.as("now")])
    .select((eb) => [
      eb
        .selectFrom("notificationPreferences as p")
        .whereRef("p.userId", "=", "u.id")
        .where("p.templateId", "=", template.id)
        .select(
          sql<Partial<Record<DeliveryMethod, boolean>> | null>`json_object_agg(p.method, ${p.isDisabled})`.as("off"),
        )
        .as("disabled"),
      eb
        .selectFrom("notificationTemplateMethods as t")
        .where("t.templateId", "=", template.id)
        .select("t.method")
        .as("method"),
      eb
        .selectFrom("users as i")
        .where("i.id", "=", userIdOf(actor) ?? null)
        .select("i.username")
        .as("initiator"),
    ])
    .orderBy("u.id")
    .limit(sql.lit(mostRecipients));
  return db.selectFrom(found.as("recipient")).selectAll().select(sql.lit(nr).as("nr"));
}

/** A recipient, with what decides about the methods, and the username of the caller. */
type Recipient = Awaited<ReturnType<ReturnType<typeof recipientsOf>["execute"]>>[number];

/** A message to insert. */
interface Planned {
  row: Insertable<Schema["notificationMessages"]>;
  /** The message in the inbox. */
  arrival?: Arrival;
  /** The event for endpoints, the same for all messages of it. */
  event?: NotifiedEventRow | undefined;
}

/**
 * Returns the messages to the recipients of events. Reads the recipients of all of them in one statement, and only once
 * those of events with the same template and the same condition.
 */
async function plan(ctx: Context, notifications: readonly Notification[]): Promise<Planned[]> {
  const distinct: Notification[] = [];
  const nrs = notifications.map((each) => {
    const known = distinct.findIndex((one) => one.template === each.template && one.recipients === each.recipients);
    return known === -1 ? distinct.push(each) - 1 : known;
  });
  const [first, ...others] = distinct.map((each, nr) => recipientsOf(ctx, each, nr));
  if (!first) return [];
  const found = await others.reduce((all, each) => all.unionAll(each), first).execute();
  const recipients = Map.groupBy(found, ({ nr }) => nr);
  return notifications.flatMap((notification, index) => {
    const eventId = newId();
    const messages = (recipients.get(nrs[index]!) ?? [])
      .filter(({ id }) => id !== notification.except && !isOwnAction(ctx, notification, id))
      .flatMap((recipient) => messagesTo(ctx, recipient, notification, eventId));
    const event = eventOf(ctx, notification, eventId, recipients.get(nrs[index]!)?.[0]);
    return messages.map((message) => ({ ...message, event }));
  });
}

/** The event for endpoints, if the template is one. */
function eventOf(ctx: Context, notification: Notification, id: string, recipient: Recipient | undefined) {
  const { template, object, targets, labels, data } = notification;
  if (!template.event || !object || !recipient) return undefined;
  const about = { event: template.event, object, objectId: targets[0]!, labels, data };
  return notifiedEvent(ctx, about, { id, createdAt: recipient.now, actorName: recipient.initiator });
}

/** Whether a user caused an event of a template that leaves out who does. */
const isOwnAction = ({ actor }: Context, { template, initiatorId = userIdOf(actor) }: Notification, userId: string) =>
  template.leavesOutInitiator === true && initiatorId === userId;

/** The messages to one recipient: one in the inbox, and one by another method. */
function messagesTo(ctx: Context, recipient: Recipient, notification: Notification, eventId: string): Planned[] {
  const { template, isSecret, dedupeKey = null, lifetime = 7 * day } = notification;
  if (recipient.status === "suspended" && !template.reachesSuspended) return [];
  const wanted = transportFor(ctx, recipient.method);
  const transport = wanted === "smtp" && isFormerAddress(recipient.email) ? undefined : wanted;
  const methods: DeliveryMethod[] = [...(isSecret ? [] : (["inbox"] as const)), ...(transport ? [transport] : [])];
  if (methods.length === 0) return [];
  const payload = renderedFor(ctx, recipient, notification);
  const { id: userId, now: createdAt } = recipient;
  const expiresAt = new Date(instantOf(createdAt) + lifetime);
  return methods.map((method) => {
    const about = { id: newId(), userId, templateId: template.id, createdAt };
    const row = {
      ...about,
      username: recipient.username,
      userEmail: recipient.email,
      ...contentOf(ctx, recipient, notification, { id: about.id, method, payload }),
      eventId,
      method,
      attemptsLeft: ctx.config.maxAttempts,
      nextAttemptAt: createdAt,
      dedupeKey,
      expiresAt,
    };
    const finished = { ...row, finishedAt: row.state === "pending" ? null : createdAt };
    if (method !== "inbox" || row.state !== "sent") return { row: finished };
    const { title, body: content, actions, targets } = payload!;
    return {
      row: finished,
      arrival: { ...about, targets: [...targets], title, content, icon: template.icon, actions },
    };
  });
}

/** The state of a new message, and what is stored to deliver it. */
function contentOf(
  { services }: Context,
  { id: userId, disabled }: Recipient,
  { template, isSecret }: Notification,
  { id, method, payload }: { id: string; method: DeliveryMethod; payload: NotificationPayload | undefined },
) {
  const nothing = { reason: null, payload: null, keyId: null, secretNonce: null, secretCiphertext: null };
  const isOff = disabled?.[method] ?? template.isOffByDefault ?? false;
  if (isOff && !template.isMandatory)
    return { ...nothing, state: "inhibited", reason: "disabled by the user" } as const;
  if (!payload) return { ...nothing, state: "permanent_failure", reason: "could not be rendered" } as const;
  if (method === "inbox") return { ...nothing, state: "sent" } as const;
  if (!isSecret) return { ...nothing, state: "pending", payload } as const;
  const place = notificationSecrets.place({ id, ownerId: userId });
  const { keyId, nonce, ciphertext } = services.vault.seal(place, JSON.stringify(payload));
  return { ...nothing, state: "pending", keyId, secretNonce: nonce, secretCiphertext: ciphertext } as const;
}

/** Renders the texts for a recipient. Logs a failure, which must not fail the event itself. */
function renderedFor(ctx: Context, recipient: Recipient, notification: Notification): NotificationPayload | undefined {
  const { template, targets } = notification;
  const data = { ...(targets.length > 0 && { id: targets[0] }), ...notification.data };
  const labels = {
    ...(template.labels.includes("initiator") && recipient.initiator !== null && { initiator: recipient.initiator }),
    ...notification.labels,
  };
  try {
    return { ...render(template, variablesFor(ctx, recipient, { labels, data })), labels, data, targets };
  } catch (error) {
    ctx.log.error(
      { err: error, template: template.name, requestId: ctx.request.id },
      "A notification failed to render.",
    );
    return undefined;
  }
}

const variablesFor = ({ config }: Context, { name, username, email }: Recipient, subject: Subject): Variables => ({
  ...subject,
  user: { name: name || username, username, email },
  app: {
    name: "Steward",
    base_url: config.accessUrl,
    logo_url: "",
    docs_url: config.docsUrl ?? "",
    year: new Date(databaseTime()).getFullYear(),
  },
});
