// Background jobs that the server repeats by itself, run when a test asks for it.
// Looks inside: the server runs them minutes or hours apart, which no test waits for.
import { messagePurge } from "../../src/domain/applications/applications.js";
import { auditPurge } from "../../src/domain/audit/audit-log.js";
import { dailyCountsJob } from "../../src/domain/audit/daily-counts.js";
import { connectionLogPurge } from "../../src/domain/connection-logs/connection-logs.js";
import { noticeLostMachines } from "../../src/domain/tasks/lost-machines.js";
import { lostWorkspaces } from "../../src/domain/workspaces/lost-workspaces.js";
import { stopNotices } from "../../src/domain/workspaces/stop-notices.js";
import { sessionEnds } from "../../src/domain/connection-logs/ended-sessions.js";
import { revocationJob } from "../../src/domain/external-auth/unlinking.js";
import { runChecks } from "../../src/domain/health/evaluation.js";
import { invitationPurge } from "../../src/domain/invitations/invitations.js";
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
import { scimRequestPurge } from "../../src/domain/scim/scim-requests.js";
import { conversionPurge } from "../../src/domain/sign-in/conversions.js";
import { loginAddressPurge } from "../../src/domain/sign-in/login-failures.js";
import { providerChecks } from "../../src/domain/sign-in/provider-checks.js";
import { signInPurge } from "../../src/domain/sign-in/provider-sign-in.js";
import { keyEndNotices } from "../../src/domain/tokens/end-notices.js";
import { keyPurge } from "../../src/domain/tokens/api-keys.js";
import { noticeJob } from "../../src/domain/users/account-notices.js";
import { templateUseJob } from "../../src/domain/templates/most-used.js";
import { memberCountJob } from "../../src/domain/organizations/member-counts.js";
import { userCountJob } from "../../src/domain/users/user-count.js";
import { replicaPurge } from "../../src/domain/workspace-proxies/proxy-registration.js";
import { slowStarts } from "../../src/domain/tasks/slow-starts.js";
import { shareEndNotices } from "../../src/domain/workspaces/share-end-notices.js";
import { shareExpiry } from "../../src/domain/workspaces/acl.js";
import { autostartJob } from "../../src/domain/workspaces/autostart.js";
import { reportFailures } from "../../src/domain/workspaces/failure-reports.js";
import { workspaceJobs } from "../../src/domain/workspaces/workspace-jobs.js";
import { rotateEncryption } from "../../src/domain/encryption/rotation.js";
import type { App } from "./app.js";
import { eventually } from "./watchers.js";

const [tokenEndNotices, scimKeyEndNotices] = keyEndNotices as [
  (typeof keyEndNotices)[number],
  (typeof keyEndNotices)[number],
];

const jobs = {
  auditPurge,
  codePurge,
  connectionLogPurge,
  conversionPurge,
  dailyCountsJob,
  deviceCodePurge,
  grantPurge,
  idempotencyKeyPurge,
  inboxPurge,
  invitationPurge,
  jobReaper,
  keyPurge,
  loginAddressPurge,
  lostWorkspaces,
  memberCountJob,
  messagePurge,
  monthsJob,
  noticeJob,
  providerChecks,
  rateCounterPurge,
  refreshTokenPurge,
  replicaPurge,
  revocationJob,
  scimRequestPurge,
  scimKeyEndNotices,
  sessionEnds,
  shareEndNotices,
  signInPurge,
  slowStarts,
  stopNotices,
  templateUseJob,
  tokenEndNotices,
  unacceptedJobs,
  unusedClientPurge,
  userCountJob,
};

/** The table whose rows a job locks, and leaves out where another run has locked them. */
const claims: Partial<Record<keyof typeof jobs, string>> = {
  jobReaper: "provisioner_jobs",
  unacceptedJobs: "provisioner_jobs",
  memberCountJob: "groups",
  noticeJob: "account_notices",
  templateUseJob: "templates",
  userCountJob: "user_counts",
};

/** Milliseconds between two runs of a job by the server itself. */
export const intervalOf = (name: keyof typeof jobs): number => jobs[name].every;

/** Waits for runs of the same job by the server itself, which may be at work on what another run has left out. */
async function othersEnd({ services }: Pick<App, "services">, table: string): Promise<void> {
  const isFree = () =>
    services.database.pool.query(`select from ${table} for no key update nowait`).then(
      () => true,
      () => false,
    );
  await eventually(isFree, `no job works on ${table}`);
}

/** Runs a job on a replica. */
export async function runJob(app: Pick<App, "services">, name: keyof typeof jobs): Promise<void> {
  await jobs[name].run(app.services);
  const table = claims[name];
  if (table) await othersEnd(app, table);
}

/** Puts tasks whose machine is gone in error, on a replica, however short it runs. */
export const noticeLost = ({ services }: Pick<App, "services">): Promise<void> => noticeLostMachines(services);

/** Runs the checks of the health of the deployment. */
export const checkHealth = ({ services }: Pick<App, "services">): Promise<void> => runChecks(services);

/** Encrypts all values with the current key, as the command does. */
export const rotate = ({ services }: App) => rotateEncryption(services, () => {});

/** Makes the prebuilt workspaces that are missing, and deletes the surplus, on a replica, until it is told to stop. */
export async function prebuild(app: App, stopping?: AbortSignal): Promise<void> {
  await reconcilePrebuilds(app.services, stopping);
  for (const table of ["template_presets", "workspaces"]) await othersEnd(app, table);
}

/**
 * Runs the job for workspaces whose name begins with `name`, on a replica: `start`, `stop`, `halt` (of suspended users), `make` (dormant), `delete`,
 * `end` (shares).
 */
export async function runSchedule(
  app: App,
  name: "start" | "stop" | "halt" | "make" | "delete" | "end",
): Promise<void> {
  await [...workspaceJobs, autostartJob, shareExpiry].find((job) => job.name.startsWith(name))!.run(app.services);
  await othersEnd(app, name === "end" ? "workspace_acl_entries" : "workspaces");
}

/** Sends the reports about the builds of this week on a replica, as if it were `weeks` later. */
export const reportWeek = ({ services }: App, weeks = 1): Promise<void> =>
  reportFailures(services, new Date(Date.now() + weeks * 7 * 86_400_000));
