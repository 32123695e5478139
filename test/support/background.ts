// Background jobs that the server repeats by itself, run when a test asks for it.
// Looks inside: the server runs them minutes or hours apart, which no test waits for.
import { messagePurge } from "../../src/domain/applications/applications.js";
import { auditPurge } from "../../src/domain/audit/audit-log.js";
import { connectionLogPurge } from "../../src/domain/connection-logs/connection-logs.js";
import { revocationJob } from "../../src/domain/external-auth/unlinking.js";
import { monthsJob } from "../../src/infrastructure/database/months.js";
import { inboxPurge } from "../../src/domain/notifications/inbox.js";
import { idempotencyKeyPurge } from "../../src/domain/notifications/idempotency-keys.js";
import { unusedClientPurge } from "../../src/domain/oauth2/clients.js";
import { deviceCodePurge } from "../../src/domain/oauth2/device-codes.js";
import { grantPurge } from "../../src/domain/oauth2/grants.js";
import { codePurge, refreshTokenPurge } from "../../src/domain/oauth2/tokens.js";
import { reconcilePrebuilds } from "../../src/domain/prebuilds/reconciliation.js";
import { jobReaper, unacceptedJobs } from "../../src/domain/provisioners/overdue-jobs.js";
import { rateCounterPurge } from "../../src/domain/rate-limits/shared.js";
import { conversionPurge } from "../../src/domain/sign-in/conversions.js";
import { loginAddressPurge } from "../../src/domain/sign-in/login-failures.js";
import { signInPurge } from "../../src/domain/sign-in/provider-sign-in.js";
import { keyPurge } from "../../src/domain/tokens/api-keys.js";
import { userCountJob } from "../../src/domain/users/user-count.js";
import { replicaPurge } from "../../src/domain/workspace-proxies/proxy-registration.js";
import { shareExpiry } from "../../src/domain/workspaces/acl.js";
import { autostartJob } from "../../src/domain/workspaces/autostart.js";
import { reportFailures } from "../../src/domain/workspaces/failure-reports.js";
import { workspaceJobs } from "../../src/domain/workspaces/workspace-jobs.js";
import { rotateEncryption } from "../../src/domain/encryption/rotation.js";
import type { App } from "./app.js";

const jobs = {
  auditPurge,
  codePurge,
  connectionLogPurge,
  conversionPurge,
  deviceCodePurge,
  grantPurge,
  idempotencyKeyPurge,
  inboxPurge,
  jobReaper,
  keyPurge,
  loginAddressPurge,
  messagePurge,
  monthsJob,
  rateCounterPurge,
  refreshTokenPurge,
  replicaPurge,
  revocationJob,
  signInPurge,
  unacceptedJobs,
  unusedClientPurge,
  userCountJob,
};

/** Runs a job on a replica. */
export const runJob = ({ services }: Pick<App, "services">, name: keyof typeof jobs): Promise<void> =>
  jobs[name].run(services);

/** Encrypts all values with the current key, as the command does. */
export const rotate = ({ services }: App) => rotateEncryption(services, () => {});

/** Makes the prebuilt workspaces that are missing, and deletes the surplus, on a replica. */
export const prebuild = ({ services }: App): Promise<void> => reconcilePrebuilds(services);

/**
 * Runs the job for workspaces whose name begins with `name`, on a replica: `start`, `stop`, `make` (dormant), `delete`,
 * `end` (shares).
 */
export const runSchedule = ({ services }: App, name: "start" | "stop" | "make" | "delete" | "end"): Promise<void> =>
  [...workspaceJobs, autostartJob, shareExpiry].find((job) => job.name.startsWith(name))!.run(services);

/** Sends the reports about the builds of this week on a replica, as if it were `weeks` later. */
export const reportWeek = ({ services }: App, weeks = 1): Promise<void> =>
  reportFailures(services, new Date(Date.now() + weeks * 7 * 86_400_000));
