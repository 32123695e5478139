// Notices to users that their API tokens, and the SCIM keys that they created, end soon.
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Context } from "../kernel/context.js";
import { now } from "../kernel/queries.js";
import { claimIds } from "../kernel/queue.js";
import { batchSize, endNoticeJob, isEndDue } from "../notifications/end-notices.js";
import { notify } from "../notifications/notify.js";
import { accountNotifications } from "../notifications/templates/account-notifications.js";

const k = columnsOf("apiKeys", "k");
const s = columnsOf("scimKeys", "s");

/** Those of service accounts, which no person reads, count in the health of the deployment. */
const endingTokens = ({ db }: Context) =>
  db
    .selectFrom("apiKeys as k")
    .innerJoin("users as u", "u.id", "k.userId")
    .select("k.id")
    .where("k.kind", "=", "token")
    .where(isEndDue(k))
    .where("u.isServiceAccount", "=", false)
    .where("u.deletedAt", "is", null)
    .orderBy("k.expiresAt");

async function tellOfTokens(ctx: Context): Promise<number> {
  const found = await ctx.db
    .updateTable("apiKeys")
    .set({ endNoticedAt: now })
    .where("id", "=", claimIds(endingTokens(ctx), batchSize, "k"))
    .returning(["userId", "name", "expiresAt"])
    .execute();
  await notify(
    ctx,
    ...found.map(({ userId, name, expiresAt }) => ({
      template: accountNotifications.tokenEnds,
      recipients: [userId],
      targets: [userId],
      labels: { name, ends_at: expiresAt },
      data: {},
    })),
  );
  return found.length;
}

const endingScimKeys = ({ db }: Context) =>
  db.selectFrom("scimKeys as s").select("s.id").where(isEndDue(s)).orderBy("s.expiresAt");

async function tellOfScimKeys(ctx: Context): Promise<number> {
  const found = await ctx.db
    .updateTable("scimKeys")
    .set({ endNoticedAt: now })
    .where("id", "=", claimIds(endingScimKeys(ctx), batchSize))
    .returning(["createdBy", "name", "expiresAt"])
    .execute();
  await notify(
    ctx,
    ...found.flatMap(({ createdBy, name, expiresAt }) =>
      createdBy === null
        ? []
        : {
            template: accountNotifications.scimKeyEnds,
            recipients: [createdBy],
            targets: [createdBy],
            labels: { name, ends_at: expiresAt! },
            data: {},
          },
    ),
  );
  return found.length;
}

export const keyEndNotices = [
  endNoticeJob("tell users that API tokens end soon", tellOfTokens),
  endNoticeJob("tell users that SCIM keys end soon", tellOfScimKeys),
];
