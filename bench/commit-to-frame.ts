import "reflect-metadata";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { WebSocket } from "ws";
import { openServices } from "../src/app.js";
import { readDeploymentId } from "../src/domain/deployment/deployment.js";
import { readConfig } from "../src/config/config.js";
import { systemActor } from "../src/domain/kernel/actor.js";
import { Context, type Services, systemContext } from "../src/domain/kernel/context.js";
import { newId } from "../src/domain/kernel/ids.js";
import { notify } from "../src/domain/notifications/notify.js";
import { customTemplate } from "../src/domain/notifications/templates/custom-templates.js";
import { ids, memberToken } from "./data.js";
import { watchPath } from "./inbox.js";
import type { Run } from "./run.js";
import { startSteward } from "./steward.js";

/** Members with one watcher each, who receive notifications in turn. Others bench with other members. */
export const audience = { first: 5_500, size: 200 };

/** Notifications per second. */
export const pace = 200;

/** Milliseconds for the last notifications to arrive. */
const timeout = 60_000;

/**
 * Milliseconds from the commit of each notification in this process, a replica, to its frame from another one, in ascending
 * order. `settings` are those of both.
 */
export async function commitToFrame(run: Run, settings: Readonly<Record<string, string>> = {}): Promise<number[]> {
  await using server = await startSteward(run, settings);
  const closers: Array<() => Promise<unknown>> = [];
  const services = await openServices(
    readConfig({ STEWARD_DATABASE_URL: run.databaseUrl, ...settings }),
    pino({ level: "error" }),
    () => Promise.reject(new Error("There is a database.")),
    closers,
  );
  const committed = new Map<string, number>();
  const found: number[] = [];
  let isMeasuring = false;
  const sockets = await Promise.all(
    Array.from({ length: audience.size }, (_, nr) =>
      watch(server.url, memberToken(audience.first + nr), (title) => {
        if (isMeasuring) found.push(performance.now() - committed.get(title)!);
        committed.delete(title);
      }),
    ),
  );
  await services.events.start(await readDeploymentId(systemContext(services)));
  try {
    await send(services, committed, run.warmUp);
    isMeasuring = true;
    await send(services, committed, run.measure * 2);
    const deadline = performance.now() + timeout;
    while (committed.size > 0) {
      if (performance.now() > deadline) throw new Error(`${committed.size} notifications do not arrive.`);
      await sleep(5);
    }
    return found.sort((one, other) => one - other);
  } finally {
    for (const socket of sockets) socket.terminate();
    for (const close of closers.toReversed()) await close();
  }
}

function watch(url: URL, token: string, onTitle: (title: string) => void): Promise<WebSocket> {
  const target = new URL(watchPath, url);
  target.protocol = "ws:";
  const socket = new WebSocket(target, { headers: { "Service-Session-Token": token } });
  socket.on("message", (data) => {
    const { notification } = JSON.parse((data as Buffer).toString()) as { notification: { title: string } };
    onTitle(notification.title);
  });
  return new Promise((resolve, reject) => {
    socket.once("open", () => resolve(socket));
    socket.once("error", reject);
  });
}

let sent = 0;

/** Sends at the pace, whether or not earlier notifications have arrived. */
async function send(services: Services, committed: Map<string, number>, milliseconds: number): Promise<void> {
  const begun = performance.now();
  const total = Math.floor((milliseconds / 1_000) * pace);
  const running: Array<Promise<unknown>> = [];
  const failures: unknown[] = [];
  for (let nr = 0; nr < total; nr++) {
    const due = begun + (nr * 1_000) / pace;
    if (due > performance.now()) await sleep(due - performance.now());
    const sending = sendOne(services, committed, `message-${sent}`, sent++ % audience.size);
    running.push(sending.catch((error: unknown) => failures.push(error)));
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}

async function sendOne(services: Services, committed: Map<string, number>, title: string, to: number): Promise<void> {
  const ctx = new Context(services, systemActor, { id: newId() }, () => new AbortController());
  await ctx.transactional(async () => {
    // Runs before the hints are sent.
    ctx.afterCommit(() => void committed.set(title, performance.now()));
    await notify(ctx, {
      template: customTemplate,
      recipients: [ids.user(1 + audience.first + to)],
      labels: { custom_title: title, custom_message: "The nightly backup of the build cache took 12 minutes." },
      data: {},
      targets: [],
    });
  });
}
