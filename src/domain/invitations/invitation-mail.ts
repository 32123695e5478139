// The mails with the links of invitations. They go to people who have no account, and so are no notifications.
import { type InferResult, sql, type SqlBool } from "kysely";
import { databaseTime } from "../../runtime/clock.js";
import type { Config } from "../../runtime/config.js";
import type { Db } from "../../infrastructure/database/database.js";
import { isRefusedForGood } from "../../infrastructure/smtp.js";
import { SealBroken } from "../../infrastructure/vault.js";
import { invitationTokens } from "../encryption/columns.js";
import type { Services } from "../kernel/context.js";
import type { Subscription } from "../../runtime/events.js";
import { newId } from "../kernel/ids.js";
import { after, now } from "../kernel/queries.js";
import { type Attempt, backOff, claimIds, type Queue, Worker } from "../kernel/queue.js";
import { mailOf } from "../notifications/mail.js";
import { render } from "../notifications/rendering.js";
import { invitationMail } from "../notifications/templates/invitation-mail.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const i = columnsOf("invitations", "i");

/** The hint that there are invitations to mail. */
export const mailHint = { topic: "notifications", id: "invitations" } as const;

const dueMails = (db: Db) =>
  db
    .selectFrom("invitations as i")
    .select("i.id")
    // invitations_due_index
    .where(sql<SqlBool>`${i.mailState} in ('pending', 'leased') and ${i.nextAttemptAt} <= now()`)
    .where("i.endReason", "is", null)
    .where("i.expiresAt", ">", now)
    .where(
      sql<SqlBool>`not exists (
        select from site_settings where key = 'notifications' and value @> '{"notifierPaused": true}')`,
    )
    .orderBy("i.nextAttemptAt")
    .orderBy("i.id");

/** Leases invitations, with what their mail says. */
const leasing = (db: Db, most: number, period: number) =>
  db
    .updateTable("invitations as i")
    .from("users as u")
    .whereRef("u.id", "=", "i.inviterId")
    .where("i.id", "=", claimIds(dueMails(db), most))
    .set((eb) => ({
      mailState: "leased",
      attempts: eb("i.attempts", "+", 1),
      leaseToken: newId(),
      nextAttemptAt: after(period),
    }))
    .returning([
      "i.id",
      "i.email",
      "i.name",
      "i.attempts",
      "i.sendCount",
      "i.expiresAt",
      "i.leaseToken",
      "i.keyId",
      "i.tokenNonce",
      "i.tokenCiphertext",
      "u.username",
      "u.name as inviterName",
    ]);

type Item = InferResult<ReturnType<typeof leasing>>[number];

/** How an attempt ended; the fault is shown to administrators. */
type Outcome = { state: "sent" } | { state: "failed" | "pending"; fault: string };

class MailQueue implements Queue<Item, Outcome> {
  constructor(
    private readonly db: Db,
    private readonly config: Config,
  ) {}

  lease(most: number): Promise<Item[]> {
    return leasing(this.db, most, this.config.leasePeriod).execute();
  }

  async settle(attempts: ReadonlyArray<Attempt<Item, Outcome>>): Promise<void> {
    const { maxAttempts, retryBase, retryMax } = this.config;
    for (const { item, result } of attempts) {
      const isLast = item.attempts >= maxAttempts;
      const state = result.state === "pending" && isLast ? "failed" : result.state;
      const delay = backOff(item.attempts - 1, { first: retryBase, most: retryMax });
      await this.db
        .updateTable("invitations")
        .set({
          mailState: state,
          mailFault: result.state === "sent" ? null : result.fault.replaceAll("\0", "").slice(0, 512),
          nextAttemptAt: state === "pending" ? after(delay) : null,
          leaseToken: null,
          ...(state !== "pending" && { keyId: null, tokenNonce: null, tokenCiphertext: null }),
        })
        .where("id", "=", item.id)
        .where("leaseToken", "=", item.leaseToken)
        .execute();
    }
  }
}

/** Mails invitations. One per server process, all of which share the work. */
export class InvitationMails {
  readonly #worker: Worker<Item, Outcome>;
  #hints: Subscription | undefined;

  constructor(private readonly services: Services) {
    const { config, database, log, transports } = services;
    this.#worker = new Worker({
      queue: new MailQueue(database.db, config),
      isAble: () => transports.smtp !== undefined,
      attempt: (item, signal) => this.#send(item, signal),
      concurrency: config.leaseCount,
      interval: config.fetchInterval,
      timeout: config.dispatchTimeout,
      log,
    });
  }

  start(): void {
    this.#hints = this.services.events.subscribe(mailHint.topic, mailHint.id, this.#worker.wake);
    this.#worker.start();
  }

  async close(): Promise<void> {
    this.#hints?.close();
    await this.#worker.close();
  }

  async #send(item: Item, signal: AbortSignal): Promise<Outcome> {
    try {
      const { id, sendCount, email } = item;
      const content = contentOf(this.services, item, this.#tokenOf(item));
      await this.services.transports.smtp!.send({ id: `${id}.${sendCount}`, to: email, ...content }, signal);
      return { state: "sent" };
    } catch (error) {
      if (error instanceof SealBroken)
        return { state: "failed", fault: "The link cannot be decrypted. Send it again." };
      const fault = signal.aborted ? "The attempt took too long." : (error as Error).message;
      return { state: isRefusedForGood(error) ? "failed" : "pending", fault };
    }
  }

  #tokenOf({ id, keyId, tokenNonce: nonce, tokenCiphertext: ciphertext }: Item): string {
    const place = invitationTokens.place({ id, ownerId: id });
    if (!keyId || !nonce || !ciphertext) throw new SealBroken(place);
    return this.services.vault.open(place, { keyId, nonce, ciphertext });
  }
}

function contentOf({ config }: Services, { email, name, username, inviterName, expiresAt }: Item, token: string) {
  const { accessUrl } = config;
  const recipient = { name, username: email };
  const content = render(invitationMail, {
    labels: { inviter: inviterName || username, email, until: expiresAt.slice(0, 10) },
    data: { path: `login/invitation?token=${token}` },
    user: { ...recipient, email },
    app: {
      name: "Steward",
      base_url: accessUrl,
      logo_url: "",
      docs_url: "",
      year: new Date(databaseTime()).getFullYear(),
    },
  });
  const payload = { ...content, labels: {}, data: {}, targets: [] };
  return mailOf(payload, { recipient, template: invitationMail, accessUrl, unsubscribeUrl: undefined });
}
