import { setTimeout as sleep } from "node:timers/promises";
import type { Services } from "./kernel/context.js";
import { deleteSpentMessages } from "./applications/applications.js";
import { deleteOldAuditEvents } from "./audit/retention.js";
import { deleteOldConnectionLogs } from "./connection-logs/retention.js";
import { deleteOldIdempotencyKeys } from "./notifications/custom.js";
import { deleteOldAddresses } from "./sign-in/failures.js";
import { deleteExpiredCounts } from "./rate-limits/shared.js";
import { deleteEndedSignIns } from "./sign-in/providers.js";
import { deleteExpiredKeys } from "./tokens/tokens.js";
import { deleteSilentReplicas } from "./workspace-proxies/registration.js";

/** Work that comes round by itself. Every replica runs it; each job is safe on all of them at once. */
interface Job {
  name: string;
  /** Milliseconds from the end of one round to the next. */
  every: number;
  run: (services: Services) => Promise<void>;
}

const minute = 60_000;
const hour = 60 * minute;

const jobs: readonly Job[] = [
  { name: "delete expired keys", every: hour, run: deleteExpiredKeys },
  { name: "delete old idempotency keys", every: hour, run: deleteOldIdempotencyKeys },
  { name: "delete expired rate counters", every: minute, run: deleteExpiredCounts },
  { name: "delete old login addresses", every: hour, run: deleteOldAddresses },
  { name: "delete ended sign-ins", every: hour, run: deleteEndedSignIns },
  { name: "delete old audit events", every: hour, run: deleteOldAuditEvents },
  { name: "delete old connection logs", every: hour, run: deleteOldConnectionLogs },
  { name: "delete spent application messages", every: hour, run: deleteSpentMessages },
  { name: "delete silent proxy replicas", every: minute, run: deleteSilentReplicas },
  { name: "check workspace proxies", every: minute, run: async ({ proxyHealth }) => proxyHealth.soon() },
];

/** Starts every job. Returns how to stop them: it waits for the rounds that are at work. */
export function runInBackground(services: Services): () => Promise<void> {
  const stopping = new AbortController();
  const running = jobs.map((job) => repeat(job, services, stopping.signal));
  return async () => {
    stopping.abort();
    await Promise.all(running);
  };
}

/** A round that fails is logged, and the next one comes all the same. */
async function repeat({ name, every, run }: Job, services: Services, signal: AbortSignal): Promise<void> {
  // Replicas that start together spread out.
  while (await pause(every * (0.5 + Math.random()), signal)) {
    try {
      await run(services);
    } catch (error) {
      services.log.error({ err: error, job: name }, "A background job failed; it runs again later.");
    }
  }
}

const pause = (time: number, signal: AbortSignal) => sleep(time, true, { signal, ref: false }).catch(() => false);
