// Checks of the work in the background: queues, what delivers notifications, and the daemons.
import { type RawBuilder, sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { version } from "../../runtime/program-files.js";
import { readNotificationSettings } from "../notifications/notification-settings.js";
import { systemContext } from "../kernel/context.js";
import { hasDaemon, isOnline, isWaiting } from "../provisioners/matching.js";
import type { HealthCode } from "./catalog.js";
import {
  daemons,
  daemonTags,
  eventsConnected,
  jobQueue,
  notificationQueue,
  type QueueReading,
  taskInputQueue,
  transport,
  workspaceProxies,
} from "./judgements.js";
import { ofReplicas, type Probe, type Subject } from "./probes.js";

const m = columnsOf("taskMessages", "m");
const k = columnsOf("tasks", "k");
const n = columnsOf("notificationMessages", "n");
const j = columnsOf("provisionerJobs", "j");

/** Counting stops there, so that the cost is bounded. */
const mostCounted = 10_000;

/** The number of rows that wait, and for how long the oldest has, from a query of their times. */
async function queueOf(db: Db, times: RawBuilder<unknown>): Promise<QueueReading> {
  const reading = await sql<QueueReading>`
    select count(*)::int as length,
           greatest(coalesce(extract(epoch from now() - min(at)) * 1000, 0), 0)::float8 as waiting
    from (${times} limit ${sql.lit(mostCounted)}) waiting`.execute(db);
  return reading.rows[0]!;
}

/** Notifications that are due, from the oldest on. */
const dueNotifications = sql`
  select ${n.nextAttemptAt} as at from notification_messages n
  where n.state in ('pending', 'temporary_failure', 'leased') and ${n.nextAttemptAt} <= now() order by ${n.nextAttemptAt}`;

/** Jobs of people that wait although a daemon could take them. */
const waitingJobs = sql`
  select ${j.createdAt} as at from provisioner_jobs j
  where ${isWaiting} and j.priority = 0 and ${hasDaemon} order by ${j.createdAt}`;

/** Inputs of active tasks. Others wait until their task is resumed. */
const waitingInputs = sql`
  select ${m.createdAt} as at from task_messages m join tasks k on k.id = ${m.taskId}
  where m.state in ('queued', 'delivering') and k.status = 'active' and ${k.deletedAt} is null`;

/** Maximum number of objects that a check reads. */
const mostRead = 1000;

async function transportOf({ services, db, at }: Subject, method: "smtp" | "webhook") {
  const row = await db
    .selectFrom("notificationTransports")
    .select(["deliveredAt", "failingSince", "lastFailure"])
    .where("method", "=", method)
    .executeTakeFirst();
  const isConfigured = services.transports[method] !== undefined;
  const reading = { deliveredAt: null, failingSince: null, lastFailure: "", ...row, isConfigured };
  return transport(reading, method === "smtp" ? "mail" : "webhook", at);
}

export const workProbes = {
  events: async ({ replicas }) => eventsConnected(ofReplicas(replicas, (each) => each.isEventsConnected)),
  notification_queue: async ({ services, db }) => {
    const { notifierPaused } = await readNotificationSettings(systemContext(services));
    return notificationQueue(await queueOf(db, dueNotifications), notifierPaused);
  },
  job_queue: async ({ db }) => jobQueue(await queueOf(db, waitingJobs)),
  task_input_queue: async ({ db }) => taskInputQueue(await queueOf(db, waitingInputs)),
  mail: (subject) => transportOf(subject, "smtp"),
  webhook: (subject) => transportOf(subject, "webhook"),
  daemons: async ({ db }) => {
    const found = await db
      .selectFrom("provisionerDaemons as d")
      .select(["d.name", "d.version", isOnline.as("isOnline")])
      .where("d.ownerTag", "=", "")
      .orderBy("d.lastSeenAt", "desc")
      .limit(mostRead)
      .execute();
    return daemons(
      found.map((each) => ({ ...each, isOnline: Boolean(each.isOnline) })),
      version,
    );
  },
  daemon_tags: async ({ db }) => {
    const found = await db
      .selectFrom("provisionerJobs as j")
      .innerJoin("organizations as o", "o.id", "j.organizationId")
      .where(isWaiting)
      .where((eb) => eb.not(hasDaemon))
      .groupBy(["o.name", "j.provisioner", "j.tags"])
      .select(({ fn }) => [
        "o.name as organization",
        "j.provisioner",
        "j.tags",
        fn.countAll<number>().as("count"),
        sql<number>`(extract(epoch from now() - min(${j.createdAt})) * 1000)::float8`.as("waiting"),
      ])
      .orderBy("waiting", "desc")
      .limit(mostRead)
      .execute();
    return daemonTags(found);
  },
  workspace_proxies: async ({ db }) =>
    workspaceProxies(
      await db
        .selectFrom("workspaceProxies")
        .select(["name", "status", "errors", "warnings"])
        .where("deletedAt", "is", null)
        .orderBy("name")
        .limit(mostRead)
        .execute(),
    ),
} satisfies Partial<Record<HealthCode, Probe>>;
