// The queue of notifications, and with BENCH_WHOLE all of a notification: recipients, preferences, texts and inbox, too.
import "reflect-metadata";
import { once } from "node:events";
import pino from "pino";
import { openServices } from "../../src/app.js";
import { readConfig } from "../../src/config/config.js";
import { systemActor } from "../../src/domain/kernel/actor.js";
import { Context } from "../../src/domain/kernel/context.js";
import { sql } from "kysely";
import { newId } from "../../src/domain/kernel/ids.js";
import { Dispatcher } from "../../src/domain/notifications/dispatch.js";
import { dispatchHint, notify } from "../../src/domain/notifications/notify.js";
import { customTemplate } from "../../src/domain/notifications/templates/custom-templates.js";
import { ids, members } from "../data.js";
import { batch, payload, process as processOne, serveQueue } from "./queue.js";
import { pool } from "./serve.js";

const services = await openServices(
  readConfig({
    STEWARD_DATABASE_URL: process.env.BENCH_DATABASE_URL,
    STEWARD_NOTIFICATIONS_METHOD: "webhook",
    STEWARD_NOTIFICATIONS_LEASE_COUNT: String(batch),
  }),
  pino({ level: "error" }),
  () => Promise.reject(new Error("There is a database.")),
  [],
);
await services.events.start("bench");
const delivered = new Response(null, { status: 204 });
/** With BENCH_HANGING, the receiver never responds to each hundredth message. */
const hanging = { isOn: Boolean(process.env.BENCH_HANGING), seen: 0, count: 0 };

const webhook = {
  async post(_: unknown, signal: AbortSignal) {
    processOne();
    if (!hanging.isOn || ++hanging.seen % 100 > 0) return delivered;
    hanging.count++;
    await once(signal, "abort");
    throw signal.reason;
  },
};
// Messages that an earlier process left behind.
await pool.query("delete from notification_messages where finished_at is null");
services.transports.webhook = webhook;
new Dispatcher(services).start();

const transactional = (work: (ctx: Context) => Promise<unknown>) => {
  const ctx = new Context(services, systemActor, { id: newId() }, () => new AbortController());
  return ctx.transactional(() => work(ctx));
};

const insertMessage = (id: string, userId: string, content: unknown) => sql`
  insert into notification_messages (id, event_id, template_id, user_id, method, state, payload, attempts_left,
    next_attempt_at, expires_at, created_at)
  values (${id}, ${id}, ${customTemplate.id}, ${userId}, 'webhook', 'pending', ${content}, 10, now(),
    now() + interval '7 days', now())`;

const userOf = (nr: number) => ids.user(1 + (nr % members));

const enqueueOnly = (nr: number) =>
  transactional(async (ctx) => {
    ctx.publish(dispatchHint);
    await insertMessage(newId(), userOf(nr), payload).execute(ctx.db);
  });

const { labels, data, targets } = payload;
const notifyWhole = (nr: number) =>
  transactional((ctx) => notify(ctx, { template: customTemplate, recipients: [userOf(nr)], labels, data, targets }));

serveQueue({
  enqueue: process.env.BENCH_WHOLE ? notifyWhole : enqueueOnly,
  unrecorded: async () => {
    const { rows } = await pool.query<{ n: number }>(
      `select count(*)::int as n from notification_messages
       where state in ('pending', 'temporary_failure', 'leased')`,
    );
    return rows[0]!.n - hanging.count;
  },
});
