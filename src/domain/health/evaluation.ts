// Runs the checks of the deployment's health: on one replica, at intervals, however many look at the results.
import type { InferResult } from "kysely";
import { isConnectionFault } from "../../infrastructure/database/availability.js";
import { databaseTime } from "../../runtime/clock.js";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { after, anyOf, insertAll, now } from "../kernel/queries.js";
import { second, minute } from "../../runtime/durations.js";
import { notify } from "../notifications/notify.js";
import { deploymentNotifications } from "../notifications/templates/deployment-notifications.js";
import { isActiveOwner } from "../users/account-notices.js";
import { checkTexts, HealthCode, type HealthState } from "./catalog.js";
import { databaseProbes } from "./database-checks.js";
import type { Judgement } from "./judgements.js";
import type { Probe, Subject } from "./probes.js";
import { noteReplica, readReplicas } from "./replicas.js";
import { surroundingsProbes } from "./surroundings-checks.js";
import { workProbes } from "./work-checks.js";

const probes: Readonly<Record<HealthCode, Probe>> = { ...databaseProbes, ...workProbes, ...surroundingsProbes };

/** Milliseconds that a check may take. */
const timeout = 10 * second;

/** Milliseconds that a check has been in a state before administrators are told. */
const settling = minute;

/** The result of a check, or a warning that it could not be run. Rejects if the database is away. */
async function resultOf(probe: Probe, subject: Subject): Promise<Judgement> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`It took more than ${timeout / 1000} seconds.`)), timeout);
  try {
    return await Promise.race([probe(subject), late]);
  } catch (error) {
    if (isConnectionFault(error)) throw error;
    return { state: "warning", finding: `The check could not be completed: ${(error as Error).message}` };
  } finally {
    clearTimeout(timer);
  }
}

/** Takes the turn to run the checks, if they are due. */
const takeTurn = async ({ database: { db }, config }: Services): Promise<boolean> =>
  (await db
    .updateTable("deployment")
    .set({ healthCheckedAt: now })
    .where((eb) =>
      eb.or([eb("healthCheckedAt", "is", null), eb("healthCheckedAt", "<=", after(-config.healthInterval))]),
    )
    .returning("id")
    .executeTakeFirst()) !== undefined;

/** Runs all checks one after the other, so that they take one connection, and stores their results. */
export async function runChecks(services: Services): Promise<void> {
  const { db } = services.database;
  const subject = { services, db, replicas: await readReplicas(db), at: databaseTime() };
  const results: Array<Judgement & { code: HealthCode }> = [];
  for (const code of Object.values(HealthCode)) results.push({ code, ...(await resultOf(probes[code], subject)) });
  const ctx = systemContext(services);
  await ctx.transactional(async () => {
    await store(ctx, results);
    await tell(ctx);
  });
}

const longestFinding = 500;

function store({ db }: Context, results: ReadonlyArray<Judgement & { code: HealthCode }>): Promise<unknown> {
  const at = new Date(databaseTime());
  const rows = results.map(({ code, state, finding }) => ({
    code,
    state,
    finding: finding.length > longestFinding ? `${finding.slice(0, longestFinding - 1)}…` : finding,
    since: at,
    checkedAt: at,
    toldState: "ok" as const,
  }));
  return insertAll(db, "healthChecks", rows)
    .onConflict((conflict) =>
      conflict.column("code").doUpdateSet((eb) => ({
        since: eb
          .case()
          .when("healthChecks.state", "=", eb.ref("excluded.state"))
          .then(eb.ref("healthChecks.since"))
          .else(eb.ref("excluded.since"))
          .end(),
        state: eb.ref("excluded.state"),
        finding: eb.ref("excluded.finding"),
        checkedAt: eb.ref("excluded.checkedAt"),
      })),
    )
    .execute();
}

/** Marks the checks whose state administrators do not know, once it has lasted. Muted ones wait until they are heard again. */
const untold = ({ db }: Context) =>
  db
    .updateTable("healthChecks")
    .set((eb) => ({ toldState: eb.ref("state") }))
    .whereRef("state", "<>", "toldState")
    .where("code", "=", anyOf(Object.values(HealthCode), "text"))
    .where("since", "<=", after(-settling))
    .where((eb) => eb.or([eb("mutedUntil", "is", null), eb("mutedUntil", "<=", now)]))
    .returning(["code", "state", "finding"]);

type Change = InferResult<ReturnType<typeof untold>>[number];

const words: Record<HealthState, string> = { ok: "is fine again", warning: "needs attention", error: "has failed" };

const titleOf = ({ code }: Pick<Change, "code">): string => checkTexts[code as HealthCode].title;

/** Tells the owners of the deployment what has changed, in one message. */
async function tell(ctx: Context): Promise<void> {
  const changes = await untold(ctx).execute();
  const [first, ...others] = changes;
  if (!first) return;
  await notify(ctx, {
    template: deploymentNotifications.healthChanged,
    recipients: isActiveOwner,
    targets: [],
    labels: {
      summary:
        others.length === 0
          ? `the check ${titleOf(first)} ${words[first.state]}`
          : `${changes.length} checks have changed`,
    },
    data: {
      changes: changes.map((change) => ({
        title: titleOf(change),
        state: words[change.state],
        finding: change.finding,
        advice: change.state === "ok" ? "" : checkTexts[change.code as HealthCode].advice,
      })),
    },
  });
}

/** Notes that this server runs, runs the checks if they are due, and reads their results. */
export const healthJob = {
  name: "check the health of the deployment",
  every: 15 * second,
  first: 5 * second,
  async run(services: Services): Promise<void> {
    if (services.config.healthInterval === 0) return;
    await noteReplica(services);
    if (await takeTurn(services)) await runChecks(services);
    await services.health.refresh();
  },
};
