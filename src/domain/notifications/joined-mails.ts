import { type Insertable, sql, type SqlBool } from "kysely";
import type { NotificationPayload } from "../../entities/notifications.js";
import type { Schema } from "../../entities/schema.js";
import type { Db } from "../../infrastructure/database/database.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { minute } from "../../runtime/durations.js";
import { instantOf } from "../../runtime/clock.js";
import { after } from "../kernel/queries.js";
import { claimIds } from "../kernel/queue.js";
import { templateWithId } from "./templates/all-templates.js";

const m = columnsOf("notificationMessages", "m");

/**
 * A user receives one mail of a template in this time: the first is sent, and what follows waits, to be sent together as
 * one mail. Inboxes and webhooks receive each message by itself.
 */
const pause = 10 * minute;

/** Maximum number of messages in a mail. What is beyond it waits for the next one. */
const mostJoined = 1_000;

/** Whether mails of a template are joined: those that users ask for, or cannot turn off, are sent each by itself. */
function isJoined({ templateId }: { templateId: string }): boolean {
  const template = templateWithId(templateId);
  return template !== undefined && template.kind !== "custom" && !template.isMandatory;
}

type Row = Insertable<Schema["notificationMessages"]>;

/** A message whose mail may wait: of a joined template, with a lifetime that lasts until well after the wait. */
const mayWait = ({ templateId, method, state, payload, createdAt, expiresAt }: Row): boolean =>
  method === "smtp" &&
  state === "pending" &&
  payload != null &&
  isJoined({ templateId }) &&
  timeOf(expiresAt) > timeOf(createdAt) + 3 * pause;

const timeOf = (time: string | Date): number => (typeof time === "string" ? instantOf(time) : time.getTime());

const kindOf = ({ userId, templateId }: Pick<Row, "userId" | "templateId">) => `${userId} ${templateId}`;

/**
 * Sets the time of new messages that wait for the mail of others of their template: the first of several is sent unless a
 * mail was sent shortly before, and takes along what is there when it is sent.
 */
export async function delayAlike(db: Db, rows: readonly Row[]): Promise<void> {
  const waiting = rows.filter((row) => mayWait(row));
  if (waiting.length === 0) return;
  const kinds = Map.groupBy(waiting, kindOf);
  const newest = await newestOf(
    db,
    Array.from(kinds.values(), ([row]) => row!),
  );
  for (const [kind, alike] of kinds) {
    let last = newest.get(kind);
    for (const row of alike) {
      const at = Math.max(timeOf(row.createdAt), timeAfter(last, timeOf(row.createdAt)));
      row.nextAttemptAt = new Date(at);
      last = { state: "pending", at };
    }
  }
}

/** The newest message of a user by mail: when it was sent, or is to be sent. */
interface Newest {
  state: string;
  at: number;
}

/** When the mail after a message is due: one that waits has others wait with it, so that one of them is the first. */
function timeAfter(newest: Newest | undefined, time: number): number {
  if (!newest) return time;
  if (newest.state === "leased") return time + pause;
  if (newest.state === "sent") return newest.at + pause;
  return newest.at > time + pause ? newest.at : Math.max(newest.at, time) + pause;
}

/** Reads the newest messages of users and templates, if they are recent. */
async function newestOf(db: Db, rows: readonly Row[]): Promise<Map<string, Newest>> {
  const kinds = sql<{ recipient: string; template: string }>`
    unnest(${rows.map(({ userId }) => userId)}::uuid[], ${rows.map(({ templateId }) => templateId)}::uuid[])`;
  const found = await db
    .selectFrom(kinds.as<"k">(sql`k (recipient, template)`))
    .innerJoinLateral(
      (eb) =>
        eb
          .selectFrom("notificationMessages as m")
          .select(["m.state", "m.nextAttemptAt"])
          .whereRef("m.userId", "=", "k.recipient")
          .whereRef("m.templateId", "=", "k.template")
          .where("m.method", "=", "smtp")
          .where("m.state", "in", ["pending", "leased", "temporary_failure", "sent"])
          .where("m.createdAt", ">", after(-3 * pause))
          .orderBy("m.createdAt", "desc")
          .orderBy("m.id", "desc")
          .limit(1)
          .as("newest"),
      (join) => join.onTrue(),
    )
    .select(["k.recipient as userId", "k.template as templateId", "newest.state", "newest.nextAttemptAt"])
    .execute();
  return new Map(found.map((each) => [kindOf(each), { state: each.state, at: instantOf(each.nextAttemptAt) }]));
}

/** A message that is sent by mail, with those that go along. */
export interface Joining {
  id: string;
  userId: string;
  templateId: string;
  leaseToken: string | null;
  attemptsLeft: number;
  payload: NotificationPayload | null;
}

/** A message that another one takes along. */
export type Joined = Pick<Joining, "id" | "payload" | "attemptsLeft">;

/**
 * Leases the messages that wait for the mail of leased ones, for the same time. Returns the messages that are sent, each with
 * those that it takes along.
 */
export async function takeAlong<Item extends Joining>(
  db: Db,
  leased: readonly Item[],
  period: number,
): Promise<Array<Item & { along: Joined[] }>> {
  const first = new Map<string, Item & { along: Joined[] }>();
  const all: Array<Item & { along: Joined[] }> = [];
  for (const item of leased) {
    const mayJoin = isJoined(item) && item.payload !== null;
    const leader = mayJoin ? first.get(kindOf(item)) : undefined;
    if (leader) leader.along.push(item);
    else {
      const own = { ...item, along: [] as Joined[] };
      all.push(own);
      if (mayJoin) first.set(kindOf(item), own);
    }
  }
  for (const leader of first.values()) leader.along.push(...(await leaseAlike(db, leader, period)));
  return all;
}

/** The messages that wait for the mail of another one. */
const waitingFor = (db: Db, { userId, templateId }: Joining) =>
  db
    .selectFrom("notificationMessages as m")
    .select("m.id")
    // notification_messages_waiting_index
    .where("m.userId", "=", userId)
    .where("m.templateId", "=", templateId)
    .where("m.method", "=", "smtp")
    .where("m.state", "in", ["pending", "temporary_failure"])
    .where("m.payload", "is not", null)
    .where(sql<SqlBool>`${m.expiresAt} > now() and ${m.attemptsLeft} > 0`)
    .orderBy("m.createdAt")
    .orderBy("m.id");

async function leaseAlike(db: Db, leader: Joining, period: number): Promise<Joined[]> {
  const taken = await db
    .updateTable("notificationMessages as m")
    .where("m.id", "=", claimIds(waitingFor(db, leader), mostJoined))
    .set((eb) => ({
      state: "leased",
      attempts: eb("m.attempts", "+", 1),
      attemptsLeft: eb("m.attemptsLeft", "-", 1),
      leaseToken: leader.leaseToken,
      nextAttemptAt: after(period),
    }))
    .returning(["m.id", "m.payload", "m.attemptsLeft", "m.createdAt"])
    .execute();
  taken.sort((one, other) =>
    one.createdAt < other.createdAt || (one.createdAt === other.createdAt && one.id < other.id) ? -1 : 1,
  );
  if (taken.length === mostJoined)
    await db
      .updateTable("notificationMessages as m")
      .where("m.id", "=", claimIds(waitingFor(db, leader), 10 * mostJoined))
      .set({ nextAttemptAt: after(pause) })
      .execute();
  return taken;
}

/** Maximum number of messages whose whole text a mail has, and of those that it names. */
const mostTexts = 10;
const mostTitles = 100;

/** The text of a mail of several messages: the first ones in whole, more by their titles, and the number of the rest. */
export function joinedText(
  payloads: readonly NotificationPayload[],
  { name, inboxUrl }: { name: string; inboxUrl: string },
): NotificationPayload {
  const texts = payloads.slice(0, mostTexts).map(({ title, body, actions }) => {
    const links = actions.map(({ label, url }) => `[${label}](<${url}>)`);
    return [`### ${title}`, body, ...(links.length > 0 ? [links.join(" · ")] : [])].join("\n\n");
  });
  const titles = payloads.slice(mostTexts, mostTitles).map(({ title }) => `- ${title}`);
  const rest = payloads.length - Math.min(payloads.length, mostTitles);
  const count = String(payloads.length);
  return {
    title: `${count} notifications: ${name}`,
    body: [
      `This mail has ${count} notifications of the last minutes.`,
      ...texts,
      ...(titles.length > 0 ? [`### And these`, titles.join("\n")] : []),
      ...(rest > 0 ? [`And ${rest} more.`] : []),
    ].join("\n\n"),
    actions: [{ label: "View inbox", url: inboxUrl }],
    labels: { count },
    data: {},
    targets: [],
  };
}
