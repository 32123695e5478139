import { databaseTime } from "../../clock.js";
import type { Services } from "../kernel/context.js";
import type { Subscription } from "../kernel/events.js";
import { type AttemptResult, Queue, type QueueItem } from "../kernel/queue.js";
import { Worker } from "../kernel/worker.js";
import { notificationSecrets } from "../encryption/columns.js";
import { retryAfterIn } from "../outside/retry-after.js";
import { isRefusedForGood } from "../outside/smtp.js";
import { SealBroken } from "../outside/vault.js";
import { mailOf } from "./mail.js";
import { plainText } from "./markdown.js";
import { allTransports, type Transport } from "./methods.js";
import { dispatchHint, type Payload } from "./notify.js";
import { templateWithId } from "./templates/templates.js";
import { unsubscribeUrl } from "./unsubscribing.js";

/** A message to deliver. */
interface Item extends QueueItem {
  method: Transport;
  templateId: string;
  payload: Payload | null;
  /** Binary values in base64. */
  secret: { keyId: string; nonce: string; ciphertext: string } | null;
  recipient: Recipient;
}

interface Recipient {
  id: string;
  username: string;
  name: string;
  email: string;
  isDeleted: boolean;
  isSuspended: boolean;
  isDisabled: boolean | null;
}

const columns = `q.id, q.method, q.template_id as "templateId", q.payload,
  case when q.secret_nonce is not null then json_build_object('keyId', q.key_id,
    'nonce', encode(q.secret_nonce, 'base64'), 'ciphertext', encode(q.secret_ciphertext, 'base64')) end as secret,
  (select json_build_object('id', u.id, 'username', u.username, 'name', u.name, 'email', u.email,
      'isDeleted', u.deleted_at is not null, 'isSuspended', u.status = 'suspended',
      'isDisabled', (select is_disabled from notification_preferences p
        where p.user_id = u.id and p.template_id = q.template_id and p.method = q.method))
    from users u where u.id = q.user_id) as recipient`;

const isPaused = `exists (select from site_settings where key = 'notifications' and value @> '{"notifierPaused": true}')`;

/** The queue of messages by a method. */
const queueOf = ({ database, config }: Services, method: Transport): Queue<Item> =>
  new Queue<Item>(
    database,
    {
      attempts: config.maxAttempts,
      lease: config.leasePeriod,
      firstDelay: config.retryBase,
      longestDelay: config.retryMax,
    },
    {
      table: "notification_messages",
      log: "notification_attempts",
      columns,
      done: "sent",
      skipped: "inhibited",
      erasedWhenDone: ["payload"],
      erasedAtEnd: ["key_id", "secret_nonce", "secret_ciphertext"],
      eligible: `method = '${method}' and not ${isPaused}`,
    },
  );

/**
 * Delivers messages. One per server process, all of which share the work. Each method has attempts of its own, so that
 * the outage of one delays no message by another.
 */
export class Dispatcher {
  readonly #workers: ReadonlyArray<Worker<Item>>;
  #hints: Subscription | undefined;

  constructor(private readonly services: Services) {
    const { config, log, transports } = services;
    this.#workers = allTransports.map(
      (method) =>
        new Worker({
          queue: queueOf(services, method),
          isAble: () => transports[method] !== undefined,
          attempt: (item, signal) => this.#attempt(item, signal),
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

  async #attempt(item: Item, signal: AbortSignal): Promise<AttemptResult> {
    const reason = reasonToSkip(item);
    if (reason !== undefined) return { outcome: "skipped", detail: reason };
    try {
      const payload = this.#payloadOf(item);
      return await this[item.method](item, payload, signal);
    } catch (error) {
      return resultOf(error, signal);
    }
  }

  /** Opens the payload of messages that carry a secret. */
  #payloadOf({ id, payload, secret, recipient }: Item): Payload {
    if (!secret) return payload!;
    const place = notificationSecrets.place({ id, ownerId: recipient.id });
    const [nonce, ciphertext] = [Buffer.from(secret.nonce, "base64"), Buffer.from(secret.ciphertext, "base64")];
    return JSON.parse(this.services.vault.open(place, { keyId: secret.keyId, nonce, ciphertext })) as Payload;
  }

  private async smtp(
    { id, templateId, recipient }: Item,
    payload: Payload,
    signal: AbortSignal,
  ): Promise<AttemptResult> {
    const { transports, config } = this.services;
    const template = templateWithId(templateId)!;
    const unsubscribe = await unsubscribeUrl(this.services, recipient, template);
    const mail = mailOf(payload, { recipient, template, accessUrl: config.accessUrl, unsubscribeUrl: unsubscribe });
    await transports.smtp!.send({ id, to: recipient.email, ...mail }, signal);
    return { outcome: "done" };
  }

  private async webhook(item: Item, payload: Payload, signal: AbortSignal): Promise<AttemptResult> {
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

function reasonToSkip({ templateId, recipient }: Item): string | undefined {
  const template = templateWithId(templateId);
  if (!template) return "The template does not exist any more.";
  if (recipient.isDeleted) return "The user was deleted.";
  if (recipient.isSuspended && !template.reachesSuspended) return "The user is suspended.";
  return recipient.isDisabled && !template.isMandatory ? "disabled by the user" : undefined;
}

/** What an error of a transport means. Messages of errors may contain addresses of mail servers, but no secrets. */
function resultOf(error: unknown, signal: AbortSignal): AttemptResult {
  if (error instanceof SealBroken) return { outcome: "fatal", detail: "The message cannot be decrypted." };
  const detail = signal.aborted ? "The attempt took too long." : (error as Error).message;
  return { outcome: isRefusedForGood(error) ? "fatal" : "retryable", detail };
}

function webhookBody({ id, templateId, recipient }: Item, payload: Payload): string {
  const { title, body, actions, labels, data, targets } = payload;
  return JSON.stringify({
    _version: "1.1",
    msg_id: id,
    payload: {
      _version: "1.2",
      notification_name: templateWithId(templateId)!.name,
      notification_template_id: templateId,
      user_id: recipient.id,
      user_email: recipient.email,
      user_name: recipient.name || recipient.username,
      user_username: recipient.username,
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
