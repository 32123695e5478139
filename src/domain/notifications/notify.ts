import { databaseTime } from "../../clock.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import type { Ending } from "../kernel/endings.js";
import { newId } from "../kernel/ids.js";
import { day } from "../kernel/purge.js";
import { joined, type Sql, sql } from "../kernel/sql.js";
import { notificationSecrets } from "../encryption/columns.js";
import { type DeliveryMethod, transportFor } from "./methods.js";
import { type Rendered, render, type Subject, type Variables } from "./rendering.js";
import type { NotificationTemplate } from "./templates/template.js";

/** An event that users are told about. */
export interface Notification extends Subject {
  template: NotificationTemplate;
  /** The condition under which a user `u` receives it. */
  recipients: Sql;
  /** Ids of the objects that it is about. The first is `data.id` of the texts: the links lead to it. */
  targets: readonly string[];
  /** Of events of a template with the same key, a user receives the first. */
  dedupeKey?: string;
  /** Milliseconds after which it is not delivered any more. Default: 7 days. */
  lifetime?: number;
  /** Whether its texts are stored encrypted until they are delivered, and it stays out of the inbox. */
  isSecret?: true;
}

/** What a message says, and from what its texts were rendered. */
export interface Payload extends Rendered, Subject {
  targets: readonly string[];
}

/** A recipient, as `Prepared.recipients` selects it. */
export interface Recipient {
  id: string;
  username: string;
  name: string;
  email: string;
  isSuspended: boolean;
  /** What the user decided, by method. */
  disabled: Partial<Record<DeliveryMethod, boolean>>;
  /** The method that an owner chose for the template. */
  method: DeliveryMethod | null;
  /** The username of the caller. */
  initiator: string | null;
}

/** Dedupe keys for one notification about a subject per minute or hour of UTC. */
export const oncePerMinute = (subject: string): string => `${subject} ${utc("2026-01-02T03:04".length)}`;
export const oncePerHour = (subject: string): string => `${subject} ${utc("2026-01-02T03".length)}`;

const utc = (length: number): string => new Date(databaseTime()).toISOString().slice(0, length);

/** Maximum number of recipients of an event. */
const mostRecipients = 10_000;

const recipientsOf = (ctx: Context, { template, recipients }: Notification): Sql => sql`
  select u.id, u.username, u.name, u.email, u.status = 'suspended' as "isSuspended",
    (select coalesce(json_object_agg(p.method, p.is_disabled), '{}') from notification_preferences p
      where p.user_id = u.id and p.template_id = ${template.id}) as disabled,
    (select method from notification_template_methods where template_id = ${template.id}) as method,
    (select username from users where id = ${userIdOf(ctx.actor) ?? null}) as initiator
  from users u
  where ${recipients} and u.deleted_at is null and not u.is_system
  order by u.id limit ${mostRecipients}`;

/** A message to insert. Binary values are base64. */
interface NewMessage {
  id: string;
  event_id: string;
  template_id: string;
  user_id: string;
  method: DeliveryMethod;
  state: "pending" | "sent" | "inhibited" | "permanent_failure";
  reason: string | null;
  icon: string;
  payload: Payload | null;
  secret: { keyId: string; nonce: string; ciphertext: string } | null;
  /** Attempts to deliver it. */
  attempts: number;
  dedupe_key: string | null;
  /** Seconds. */
  lifetime: number;
}

// The cursor row is the lock of an inbox. Inboxes are locked in the order of their users, and until the commit, so that
// `seq` follows the order of commits. `seq` is at least the time in milliseconds, so that no value is reused after the
// restore of a backup, and clients can resume after a value from before the restore.
const delivering: Ending<NewMessage> = (rows) => sql`
  given as (
    select * from json_to_recordset(${rows}) as g (id uuid, event_id uuid, template_id uuid, user_id uuid, method text,
      state text, reason text, icon text, payload jsonb, secret json, attempts int, dedupe_key text, lifetime float8)
  ), added as (
    insert into notification_messages (id, event_id, template_id, user_id, method, state, reason, payload, key_id,
      secret_nonce, secret_ciphertext, attempts_left, next_attempt_at, dedupe_key, expires_at, created_at, finished_at)
    select id, event_id, template_id, user_id, method, state, reason, case when method <> 'inbox' then payload end,
      secret->>'keyId', decode(secret->>'nonce', 'base64'), decode(secret->>'ciphertext', 'base64'), attempts, now(),
      dedupe_key, now() + make_interval(secs => lifetime), now(), case when state <> 'pending' then now() end
    from given
    on conflict (template_id, user_id, method, dedupe_key) where dedupe_key is not null do nothing
    returning id, user_id, method, state
  ), arriving as (
    select id, user_id, row_number() over (partition by user_id order by id) as place,
      count(*) over (partition by user_id) as number
    from added where method = 'inbox' and state = 'sent'
  ), places as (
    insert into inbox_cursors as mine (user_id, last_seq, unread_count)
    select user_id, (extract(epoch from clock_timestamp()) * 1000)::bigint, number
    from arriving where place = 1 order by user_id
    on conflict (user_id) do update
      set last_seq = greatest(mine.last_seq + excluded.unread_count, excluded.last_seq),
        unread_count = mine.unread_count + excluded.unread_count
    returning user_id, last_seq, epoch
  ), arrived as (
    insert into inbox_notifications
      (id, user_id, seq, template_id, targets, title, content, icon, actions, created_at, epoch)
    select id, user_id, last_seq - number + place, template_id,
      array(select jsonb_array_elements_text(payload->'targets'))::uuid[], payload->>'title', payload->>'body', icon,
      payload->'actions', now(), epoch
    from arriving join places using (user_id) join given using (id, user_id)
  )`;

/** A message of an event. */
export interface Message {
  id: string;
  userId: string;
  method: DeliveryMethod;
}

/** Notifications whose recipients a statement of the caller reads, so that it needs none of its own. */
export interface Prepared {
  /** A column of the statement: the recipients. */
  recipients: Sql;
  /** Has the messages inserted with the commit, so that inboxes are locked last. */
  send(recipients: readonly Recipient[][]): void;
  /**
   * Has the messages inserted with the commit, or before what the mutation reads until then. Returns those that will be
   * delivered or are in an inbox. For notifications without a `dedupeKey`.
   */
  sendForReading(recipients: readonly Recipient[][]): Message[];
}

/** A column with the recipients of each of several notifications. */
const recipientsOfEach = (ctx: Context, notifications: readonly Notification[]): Sql =>
  sql`json_build_array(${joined(
    notifications.map((each) => sql`(select coalesce(json_agg(r), '[]') from (${recipientsOf(ctx, each)}) r)`),
  )})`;

const messagesAboutAll = (
  ctx: Context,
  notifications: readonly Notification[],
  recipients: readonly Recipient[][],
): NewMessage[] => notifications.flatMap((each, nr) => messagesAbout(ctx, each, recipients[nr]!));

/** Prepares notifications of users about events in the transaction of a mutation. */
export function prepareNotifications(ctx: Context, ...notifications: readonly Notification[]): Prepared {
  const announced = (recipients: readonly Recipient[][]) => {
    const messages = messagesAboutAll(ctx, notifications, recipients);
    announce(ctx, messages);
    return messages;
  };
  return {
    recipients: recipientsOfEach(ctx, notifications),
    send: (recipients) => ctx.atCommit(delivering, ...announced(recipients)),
    sendForReading(recipients) {
      const messages = announced(recipients);
      ctx.write(delivering, ...messages);
      return effective(messages);
    },
  };
}

/**
 * Notifies users of events in the transaction of a mutation, which can read the messages, by two statements. To be
 * called once, and last: it locks inboxes until the commit, those of all events in one order. Returns the messages that
 * will be delivered or are in an inbox: none for repeated events with the same `dedupeKey`.
 */
export async function notify(ctx: Context, ...notifications: readonly Notification[]): Promise<Message[]> {
  const [found] = await ctx.select<{ recipients: Recipient[][] }>(
    sql`select ${recipientsOfEach(ctx, notifications)} as recipients`,
  );
  const messages = messagesAboutAll(ctx, notifications, found!.recipients);
  if (messages.length === 0) return [];
  const added = await ctx.select<{ id: string }>(
    sql`with ${delivering(JSON.stringify(messages))} select id from added`,
  );
  const ids = new Set(added.map(({ id }) => id));
  const arriving = messages.filter(({ id }) => ids.has(id));
  announce(ctx, arriving);
  return effective(arriving);
}

/** The messages that will be delivered or are in an inbox. */
const effective = (messages: readonly NewMessage[]): Message[] =>
  messages
    .filter(({ state }) => state === "pending" || state === "sent")
    .map(({ id, user_id: userId, method }) => ({ id, userId, method }));

/** Wakes those who wait for messages, after the commit. */
function announce(ctx: Context, messages: readonly NewMessage[]): void {
  const arriving = messages.filter(({ method, state }) => method === "inbox" && state === "sent");
  ctx.publish(...arriving.map(({ user_id: userId }) => ({ topic: "inbox", id: `n:${userId}` }) as const));
  if (messages.some(({ state }) => state === "pending")) ctx.publish(dispatchHint);
}

/** The hint that there are messages to deliver. */
export const dispatchHint = { topic: "notifications", id: "dispatch" } as const;

function messagesAbout(ctx: Context, notification: Notification, recipients: readonly Recipient[]): NewMessage[] {
  const eventId = newId();
  return recipients.flatMap((recipient) => messagesTo(ctx, recipient, notification, eventId));
}

/** The messages to one recipient: one in the inbox, and one by another method. */
function messagesTo(ctx: Context, recipient: Recipient, notification: Notification, eventId: string): NewMessage[] {
  const { template, isSecret, dedupeKey = null, lifetime = 7 * day } = notification;
  if (recipient.isSuspended && !template.reachesSuspended) return [];
  const transport = transportFor(ctx, recipient.method);
  const methods: DeliveryMethod[] = [...(isSecret ? [] : (["inbox"] as const)), ...(transport ? [transport] : [])];
  if (methods.length === 0) return [];
  const payload = renderedFor(ctx, recipient, notification);
  const { maxAttempts: attempts } = ctx.config;
  return methods.map((method) => {
    const id = newId();
    const place = { event_id: eventId, template_id: template.id, user_id: recipient.id, method };
    const rules = { icon: template.icon, attempts, dedupe_key: dedupeKey, lifetime: lifetime / 1000 };
    return { id, ...place, ...rules, ...contentOf(ctx, recipient, notification, { id, method, payload }) };
  });
}

/** The state of a new message, and what is stored to deliver it. */
function contentOf(
  { services }: Context,
  { id: userId, disabled }: Recipient,
  { template, isSecret }: Notification,
  { id, method, payload }: { id: string; method: DeliveryMethod; payload: Payload | undefined },
): Pick<NewMessage, "state" | "reason" | "payload" | "secret"> {
  const nothing = { reason: null, payload: null, secret: null };
  const isOff = disabled[method] ?? template.isOffByDefault ?? false;
  if (isOff && !template.isMandatory) return { ...nothing, state: "inhibited", reason: "disabled by the user" };
  if (!payload) return { ...nothing, state: "permanent_failure", reason: "could not be rendered" };
  const state = method === "inbox" ? "sent" : "pending";
  if (!isSecret) return { ...nothing, state, payload };
  const place = notificationSecrets.place({ id, ownerId: userId });
  const { keyId, nonce, ciphertext } = services.vault.seal(place, JSON.stringify(payload));
  const secret = { keyId, nonce: nonce.toString("base64"), ciphertext: ciphertext.toString("base64") };
  return { ...nothing, state, secret };
}

/** Renders the texts for a recipient. Logs a failure, which must not fail the event itself. */
function renderedFor(ctx: Context, recipient: Recipient, notification: Notification): Payload | undefined {
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
