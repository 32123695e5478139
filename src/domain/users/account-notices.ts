import { type Insertable, type InferResult, sql, type SqlBool } from "kysely";
import type { Schema } from "../../entities/schema.js";
import { userIdOf } from "../kernel/actor.js";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { insertAll } from "../kernel/queries.js";
import { day, second } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import { claimIds } from "../kernel/queue.js";
import { notify } from "../notifications/notify.js";
import { accountNotifications } from "../notifications/templates/account-notifications.js";
import type { PlainTemplate } from "../notifications/templates/template.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const u = columnsOf("users", "u");

/** The condition that the user `u` is an owner who is told what happens. */
export const isActiveOwner = sql<SqlBool>`(${u.siteRoles} @> '{owner}' and u.status = 'active')`;

/** The recipients of notices about accounts, as conditions on a user `u`. */
const audiences = {
  administrators: sql<SqlBool>`${u.siteRoles} <> '{}' and ${u.siteRoles} && '{owner,user-admin}'`,
  owners: isActiveOwner,
} as const;

export interface AccountNotice {
  template: PlainTemplate;
  audience: keyof typeof audiences;
  /** The id of the account, whose user is not told, or of another object. */
  about: string;
  labels: Record<string, string>;
}

/**
 * Tells owners or administrators about an account, within two seconds after the commit. The transaction only adds a row for
 * it: the inboxes of the recipients, which all such transactions would wait for, are the task of `noticeJob`.
 */
export function tellAdministrators(ctx: Context, { template, audience, about, labels }: AccountNotice): void {
  ctx.beforeCommit(store, {
    id: newId(),
    templateId: template.id,
    audience,
    userId: about,
    initiatorId: userIdOf(ctx.actor) ?? null,
    labels,
  });
}

const store = ({ db }: Context, rows: ReadonlyArray<Insertable<Schema["accountNotices"]>>) =>
  insertAll(db, "accountNotices", rows).execute();

const templates = new Map<string, PlainTemplate>(
  Object.values(accountNotifications).map((template) => [template.id, template]),
);

/** Selects the oldest notices, without those of a later release, which a server of that release sends. */
const oldest = ({ db }: Pick<Context, "db">) =>
  db
    .selectFrom("accountNotices as n")
    .select("n.id")
    .where("n.templateId", "=", sql<string>`any(${[...templates.keys()]}::uuid[])`)
    .orderBy("n.id");

/** Takes the oldest notices, which no other transaction has taken, for the transaction to send. */
const take = (ctx: Context, most: number) =>
  ctx.db
    .deleteFrom("accountNotices as n")
    .where("n.id", "=", claimIds(oldest(ctx), most))
    .returning(["n.id", "n.templateId", "n.audience", "n.userId", "n.labels", "n.initiatorId"])
    .returning((eb) =>
      eb.selectFrom("users as i").whereRef("i.id", "=", "n.initiatorId").select("i.username").as("initiator"),
    );

type Notice = InferResult<ReturnType<typeof take>>[number];

/** Maximum number of messages in a transaction, unless a single notice has more. */
const mostMessages = 1_000;
const mostNotices = 100;

/**
 * Sends notices to all recipients in batches. Each is a transaction: after a crash, the notices are there again, and none of
 * their messages. Safe on several replicas: each takes other notices.
 */
export const noticeJob = {
  name: "tell administrators about accounts",
  every: second,
  async run(services: Services): Promise<void> {
    let most = 10;
    while (await oldest(services.database).limit(1).executeTakeFirst()) {
      const sent = await send(services, most);
      // Others have taken the rest.
      if (sent.notices === 0) return;
      most = Math.max(1, Math.min(mostNotices, Math.floor((mostMessages * sent.notices) / (sent.messages || 1))));
    }
  },
};

async function send(services: Services, most: number): Promise<{ notices: number; messages: number }> {
  const ctx = systemContext(services);
  return ctx.transactional(async () => {
    const notices = await take(ctx, most).execute();
    notices.sort((one, other) => (one.id < other.id ? -1 : 1));
    const messages = await notify(ctx, ...notices.map(notificationOf));
    return { notices: notices.length, messages: messages.length };
  });
}

const notificationOf = ({ templateId, audience, userId, labels, initiatorId, initiator }: Notice) => ({
  template: templates.get(templateId)!,
  recipients: audiences[audience],
  except: userId,
  initiatorId,
  targets: [userId],
  labels: { ...labels, ...(initiator !== null && { initiator }) },
  data: {},
});

/** Deletes the notices of a later release that has not run for a week. */
export const noticePurge = purge("account_notices", { by: "created_at", keptFor: 7 * day });
