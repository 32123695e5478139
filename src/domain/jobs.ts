import { setTimeout as sleep } from "node:timers/promises";
import type { Services } from "./kernel/context.js";
import { messagePurge } from "./applications/applications.js";
import { auditPurge } from "./audit/audit-log.js";
import { dailyCountsJob } from "./audit/daily-counts.js";
import { readerPurge } from "./audit/audit-readers.js";
import { sealDays } from "./audit/seals.js";
import { numberPurge } from "./audit/numbering.js";
import { connectionLogPurge } from "./connection-logs/connection-logs.js";
import { sessionEnds } from "./connection-logs/ended-sessions.js";
import { clockJob } from "./deployment/clock.js";
import { zoneCheck } from "./deployment/zone-check.js";
import { deliveryLimit, deliveryPurge } from "./event-endpoints/event-deliveries.js";
import { pendingLinkPurges } from "./external-auth/linking.js";
import { revocationJob } from "./external-auth/unlinking.js";
import { invitationPurge } from "./invitations/invitations.js";
import { monthsJob } from "../infrastructure/database/months.js";
import { healthJob } from "./health/evaluation.js";
import { goneReplicaPurge } from "./health/replicas.js";
import { minute } from "../runtime/durations.js";
import { inboxPurge } from "./notifications/inbox.js";
import { messagePurges } from "./notifications/messages.js";
import { idempotencyKeyPurge } from "./notifications/idempotency-keys.js";
import { notifiedEventPurge } from "./notifications/notified-events.js";
import { deviceCodePurge } from "./oauth2/device-codes.js";
import { grantPurge } from "./oauth2/grants.js";
import { codePurge, refreshTokenPurge } from "./oauth2/tokens.js";
import { unusedClientPurge } from "./oauth2/clients.js";
import { daemonPurge } from "./provisioners/daemons.js";
import { jobReaper, unacceptedJobs } from "./provisioners/overdue-jobs.js";
import { prebuildsJob } from "./prebuilds/reconciliation.js";
import { rateCounterPurge } from "./rate-limits/shared.js";
import { scimRequestPurge } from "./scim/scim-requests.js";
import { conversionPurge } from "./sign-in/conversions.js";
import { loginAddressPurge } from "./sign-in/login-failures.js";
import { challengePurge } from "./sign-in/passkey-challenges.js";
import { devicePurge } from "./sign-in/remembered-devices.js";
import { providerChecks } from "./sign-in/provider-checks.js";
import { signInPurge } from "./sign-in/provider-sign-in.js";
import { actionPurge } from "./tasks/task-actions.js";
import { inputPurge } from "./tasks/task-messages.js";
import { slowStarts } from "./tasks/slow-starts.js";
import { lostMachines } from "./tasks/lost-machines.js";
import { templateUseJob } from "./templates/most-used.js";
import { keyPurge } from "./tokens/api-keys.js";
import { keyEndNotices } from "./tokens/end-notices.js";
import { endedKeyPurge } from "./tokens/key-makers.js";
import { noticeJob, noticePurge } from "./users/account-notices.js";
import { memberCountJob } from "./organizations/member-counts.js";
import { userCountJob } from "./users/user-count.js";
import { autostartJob } from "./workspaces/autostart.js";
import { shareExpiry } from "./workspaces/acl.js";
import { failureReports } from "./workspaces/failure-reports.js";
import { transferPurge } from "./workspaces/transfers.js";
import { shareEndNotices } from "./workspaces/share-end-notices.js";
import { lostWorkspaces } from "./workspaces/lost-workspaces.js";
import { stopNotices } from "./workspaces/stop-notices.js";
import { workspaceJobs } from "./workspaces/workspace-jobs.js";
import { replicaPurge } from "./workspace-proxies/proxy-registration.js";

/** A periodic job. Every replica runs it, so it must be safe to run concurrently. */
interface Job {
  name: string;
  /** Milliseconds from the end of one run to the start of the next. */
  every: number;
  /** Milliseconds from the start of the server to the first run. Default: `every`. */
  first?: number;
  /** `stopping` says that the server shuts down: a run that does one thing after the other leaves the rest to the next one. */
  run: (services: Services, stopping: AbortSignal) => Promise<void>;
}

const jobs: readonly Job[] = [
  auditPurge,
  autostartJob,
  connectionLogPurge,
  clockJob,
  codePurge,
  deviceCodePurge,
  endedKeyPurge,
  refreshTokenPurge,
  grantPurge,
  unusedClientPurge,
  conversionPurge,
  dailyCountsJob,
  daemonPurge,
  deliveryLimit,
  deliveryPurge,
  failureReports,
  goneReplicaPurge,
  healthJob,
  idempotencyKeyPurge,
  invitationPurge,
  jobReaper,
  challengePurge,
  devicePurge,
  ...keyEndNotices,
  keyPurge,
  loginAddressPurge,
  lostMachines,
  lostWorkspaces,
  memberCountJob,
  messagePurge,
  ...messagePurges,
  monthsJob,
  noticeJob,
  numberPurge,
  noticePurge,
  notifiedEventPurge,
  inboxPurge,
  inputPurge,
  actionPurge,
  ...pendingLinkPurges,
  prebuildsJob,
  providerChecks,
  rateCounterPurge,
  readerPurge,
  replicaPurge,
  revocationJob,
  scimRequestPurge,
  sealDays,
  sessionEnds,
  shareEndNotices,
  shareExpiry,
  stopNotices,
  templateUseJob,
  slowStarts,
  signInPurge,
  transferPurge,
  unacceptedJobs,
  userCountJob,
  ...workspaceJobs,
  zoneCheck,
  { name: "check workspace proxies", every: minute, run: async ({ proxyHealth }) => proxyHealth.soon() },
];

/** Starts every job. Returns the function that stops them and waits for the runs in progress. */
export function runInBackground(services: Services): () => Promise<void> {
  const stopping = new AbortController();
  const running = jobs.map((job) => repeat(job, services, stopping.signal));
  return async () => {
    stopping.abort();
    await Promise.all(running);
  };
}

/** Repeats a job until the signal is aborted. A failed run is logged and does not prevent the next one. */
async function repeat(
  { name, every, first = every, run }: Job,
  services: Services,
  signal: AbortSignal,
): Promise<void> {
  // Failures of the next minute, as in an outage of the database, are not logged.
  let quietUntil = 0;
  // Jitter spreads replicas that start together.
  for (let period = first; await pause(period * (0.5 + Math.random()), signal); period = every) {
    try {
      await run(services, signal);
    } catch (error) {
      if (performance.now() < quietUntil) continue;
      quietUntil = performance.now() + minute;
      services.log.error({ err: error, job: name }, "A background job failed; it runs again later.");
    }
  }
}

const pause = (time: number, signal: AbortSignal) => sleep(time, true, { signal, ref: false }).catch(() => false);
