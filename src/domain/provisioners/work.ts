import { type InferResult, sql } from "kysely";
import { authorizeMachine } from "../authorization/authorization.js";
import type { ProvisionerActor } from "../kernel/actor.js";
import { boundedPool, type BoundedPool } from "../../runtime/concurrency.js";
import type { Context, Services } from "../kernel/context.js";
import { badInput, conflict } from "../kernel/errors.js";
import { after, anyOf, now } from "../kernel/queries.js";
import { type Watch, watching } from "../kernel/watching.js";
import { withCleanLabels } from "../templates/clean-labels.js";
import type { TemplateDocument } from "../templates/template-documents.js";
import { openVariables, type VariableValue } from "../templates/variables.js";
import { randomText } from "../../runtime/random.js";
import { hashSecret } from "../tokens/token-text.js";
import { handedBack } from "./ended-jobs.js";
import { daemonHint, type JobRow, workHint } from "./provisioner-jobs.js";
import { daemonMatches, isOnline, isWaiting, tagsMatch } from "./matching.js";
import { authorizeServing } from "./serving.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const b = columnsOf("workspaceBuilds", "b");
const j = columnsOf("provisionerJobs", "j");

/** Everything a daemon needs for a job. */
export interface Assignment {
  document: unknown;
  /** Secret, in the order of the document. */
  variables: VariableValue[];
  /** Those of the build or dry run; for imports, the defaults of the document. */
  parameters: VariableValue[];
  transition: "start" | "stop" | "delete";
  /** Null unless the job is a build. */
  buildNumber: number | null;
  /** Whether the build hands a prebuilt workspace to its owner. */
  claim: boolean;
  /** The state that the latest build with a state left; null if no build left one. */
  state: unknown;
  accessUrl: string;
  workspace: { id: string; name: string; owner: { id: string; username: string } } | null;
  task: { id: string; prompt: string } | null;
}

/** A job that was handed out, with the token of its lease. It must be accepted before `expiresAt`. */
export interface AssignedJob {
  jobId: string;
  lease: string;
  expiresAt: string;
  type: JobRow["type"];
  tags: Record<string, string>;
  assignment: Assignment;
}

/** Jobs for a daemon, and those that it must cancel. */
interface Work {
  assigned: AssignedJob[];
  cancelRequested: string[];
}

/** Maximum number of jobs that are handed out at a time: the others are left to other daemons. */
const batchSize = 4;

/** Milliseconds within which a daemon must accept a job. */
const acceptedWithin = 15_000;

/** The search for work by the daemons of an organization that are connected to this server. */
interface Search {
  /** Lets some of them search at a time. */
  semaphore: BoundedPool;
  /** When the latest search began that found nothing, in milliseconds of the process's monotonic clock. */
  emptySince: number;
}

/** Daemons of an organization that search at a time. */
const searching = 2;

/** By organization, of each server: tests run several in a process. */
const searches = new WeakMap<Services, Map<string, Search>>();

function searchIn(services: Services, organizationId: string): Search {
  const all = searches.get(services) ?? new Map<string, Search>();
  searches.set(services, all);
  const search = all.get(organizationId) ?? { semaphore: boundedPool(searching), emptySince: -Infinity };
  all.set(organizationId, search);
  return search;
}

/**
 * Calls `assign` if there may be work for any daemon of the organization. Each new job wakes all of them, and one gets it.
 * They search in turn, and once a search that began after they woke has found nothing, the others need none of their own:
 * with 50 daemons, a build takes half the CPU.
 */
function ifThereIsWork({ services }: Context, organizationId: string, assign: () => Promise<Work>): Promise<Work> {
  const search = searchIn(services, organizationId);
  const woke = performance.now();
  return search.semaphore(async () => {
    if (search.emptySince >= woke) return noWork;
    const began = performance.now();
    const work = await selectWork(services, organizationId).executeTakeFirstOrThrow();
    if (work.jobId !== null) return assign();
    search.emptySince = began;
    return noWork;
  });
}

const noWork: Work = { assigned: [], cancelRequested: [] };

/** Selects the id of a job that waits, or has to be canceled; null if there is none. */
function selectWork({ database: { db } }: Services, organizationId: string) {
  const jobs = db.selectFrom("provisionerJobs as j").where("j.organizationId", "=", organizationId).select("j.id");
  // In the order of the queue, for which Postgres reads its index.
  const waiting = jobs.where(isWaiting).orderBy("j.priority").orderBy("j.createdAt").limit(sql.lit(1));
  const canceling = jobs.where("j.completedAt", "is", null).where("j.status", "=", "canceling").limit(sql.lit(1));
  return db.selectNoFrom(({ fn }) => fn.coalesce(waiting, canceling).as("jobId"));
}

/** The jobs that a daemon runs, or has to accept. */
const heldJobs = ({ services }: Context, { id }: ProvisionerActor) =>
  services.database.db
    .selectFrom("provisionerJobs")
    .where("workerId", "=", id)
    .where("completedAt", "is", null)
    .where((eb) =>
      eb.or([
        eb("status", "in", ["running", "canceling"]),
        eb.and([eb("status", "=", "pending"), eb("leaseExpiresAt", ">", now)]),
      ]),
    )
    .select(["id", "status"])
    .execute();

/** Hands out a job for each lease, as far as there are any: those of people first, then by age. */
function takeJobs({ services }: Context, daemon: ProvisionerActor, leases: readonly string[]) {
  const { id, organizationId, name, provisioners, tags } = daemon;
  return (
    services.database.db
      .with("next", (db) =>
        db
          .selectFrom("provisionerJobs as j")
          .where("j.organizationId", "=", organizationId)
          .where(isWaiting)
          .where("j.provisioner", "=", anyOf(provisioners, "text"))
          .where((eb) => eb.or([eb("j.pinnedDaemonId", "is", null), eb("j.pinnedDaemonId", "=", id)]))
          .where(tagsMatch(sql`${tags}::jsonb`))
          // A daemon that did not accept a job gets it again only if no other one could take it.
          .where((eb) =>
            eb.or([
              eb("j.refusedBy", "is distinct from", id),
              eb.not(
                eb.exists(
                  eb
                    .selectFrom("provisionerDaemons as d")
                    .where("d.id", "<>", id)
                    .where(isOnline)
                    .where(daemonMatches)
                    .select("d.id"),
                ),
              ),
            ]),
          )
          .select("j.id")
          .orderBy("j.priority")
          .orderBy("j.createdAt")
          .orderBy("j.id")
          // A constant, for which Postgres reads the index of the queue.
          .limit(sql.lit(batchSize))
          .forUpdate()
          .skipLocked(),
      )
      // Locks no more jobs than are handed out.
      .with("taken", (db) =>
        db
          .selectFrom((eb) => eb.selectFrom("next").select("id").limit(leases.length).as("first"))
          .select(["id", sql<number>`(row_number() over ())::int`.as("place")]),
      )
      .updateTable("provisionerJobs as j")
      .from("taken as n")
      .set({
        workerId: id,
        workerName: name,
        leaseHash: sql<Buffer>`(${leases.map(hashSecret)}::bytea[])[n.place]`,
        leaseExpiresAt: after(acceptedWithin),
      })
      .whereRef("j.id", "=", "n.id")
      .returning((eb) => ["n.place", "j.id", eb.ref("j.leaseExpiresAt").$notNull().as("expiresAt")])
  );
}

/** Reads what a daemon gets with a job: one at a time, so that Postgres keeps the plan, which takes it 1.5 ms to make. */
const selectAssignment = ({ services }: Context, jobId: string) =>
  services.database.db
    .selectFrom("provisionerJobs as j")
    .innerJoin("templateDocuments as c", "c.id", "j.documentId")
    .leftJoin("workspaceBuilds as b", "b.jobId", "j.id")
    .leftJoin("workspaces as w", "w.id", "b.workspaceId")
    .leftJoin("users as u", "u.id", "w.ownerId")
    .leftJoin("tasks as k", (join) => join.onRef("k.workspaceId", "=", "w.id").on("k.deletedAt", "is", null))
    .innerJoin("templateVersions as v", (join) =>
      join.on("v.id", "=", sql<string>`coalesce(${b.versionId}, ${j.versionId})`),
    )
    .where("j.id", "=", jobId)
    .select((eb) => [
      "j.type",
      "j.tags",
      "c.content as document",
      // Null for imports.
      eb.fn.coalesce("b.parameters", "j.parameters").as("parameters"),
      eb.fn.coalesce("b.transition", sql.lit("start" as const)).as("transition"),
      "b.buildNumber",
      eb.fn.coalesce("b.isClaim", eb.lit(false)).as("claim"),
      eb
        .selectFrom("workspaceBuilds as p")
        .whereRef("p.workspaceId", "=", "b.workspaceId")
        .whereRef("p.buildNumber", "<", "b.buildNumber")
        .where("p.state", "is not", null)
        .select("p.state")
        .orderBy("p.buildNumber", "desc")
        .limit(1)
        .as("state"),
      "w.id as workspaceId",
      "w.name as workspaceName",
      "u.id as ownerId",
      "u.username as ownerUsername",
      "k.id as taskId",
      "k.initialPrompt as prompt",
      "v.id",
      "v.templateId",
      "v.variablesKeyId",
      "v.variablesNonce",
      "v.variablesCiphertext",
    ]);

/**
 * Hands out jobs to a daemon that holds less than `slots`: those of people first, then by age. No other daemon gets
 * them within 15 seconds. Also returns all jobs that the daemon must cancel.
 */
async function assignWork(ctx: Context, daemon: ProvisionerActor, slots: number): Promise<Work> {
  const held = await heldJobs(ctx, daemon);
  const room = Math.max(0, Math.min(slots - held.length, batchSize));
  const leases = Array.from({ length: room }, () => randomText(43));
  const taken = room > 0 ? await takeJobs(ctx, daemon, leases).execute() : [];
  taken.sort((one, other) => one.place - other.place);
  const rows = await Promise.all(taken.map(({ id }) => selectAssignment(ctx, id).executeTakeFirst()));
  return {
    assigned: taken.flatMap(({ id: jobId, expiresAt, place }, nr) => {
      const row = rows[nr];
      return row ? [{ jobId, lease: leases[place - 1]!, expiresAt, ...offerOf(ctx, row) }] : [];
    }),
    cancelRequested: held.filter(({ status }) => status === "canceling").map(({ id }) => id),
  };
}

function offerOf(
  { services, config }: Context,
  row: InferResult<ReturnType<typeof selectAssignment>>[number],
): Pick<AssignedJob, "type" | "tags" | "assignment"> {
  const { type, tags, transition, buildNumber, claim, state } = row;
  const { workspaceId, workspaceName, ownerId, ownerUsername, taskId, prompt } = row;
  const document = withCleanLabels(row.document as unknown as TemplateDocument);
  const parameters = row.parameters
    ? Object.entries(row.parameters).map(([name, value]) => ({ name, value }))
    : defaultsOf(document);
  const assignment: Assignment = {
    document,
    variables: openVariables(services, row),
    parameters,
    transition,
    buildNumber,
    claim,
    state,
    accessUrl: config.accessUrl,
    workspace:
      workspaceId === null
        ? null
        : { id: workspaceId, name: workspaceName!, owner: { id: ownerId!, username: ownerUsername! } },
    task: taskId === null ? null : { id: taskId, prompt: prompt! },
  };
  return { type, tags, assignment };
}

/** The parameters of a document that have a default. */
const defaultsOf = ({ parameters }: TemplateDocument): VariableValue[] =>
  parameters.flatMap(({ name, default: value }) => (value === undefined ? [] : { name, value }));

/** Returns jobs to the queue that were assigned to a daemon whose connection ended before it received them. */
async function returnWork(
  { database, events }: Pick<Services, "database" | "events">,
  { id, organizationId }: ProvisionerActor,
  jobIds: readonly string[],
): Promise<void> {
  const returned = await database.db
    .updateTable("provisionerJobs")
    .set(handedBack)
    .where("id", "=", anyOf(jobIds))
    .where("workerId", "=", id)
    .where("status", "=", "pending")
    .returning("id")
    .execute();
  if (returned.length > 0) events.publish(workHint(organizationId));
}

/** An event for a daemon. */
export type WorkEvent =
  | (AssignedJob & { __typename: "ProvisionerJobAssigned" })
  | { __typename: "ProvisionerJobCancelRequested"; jobId: string }
  | { __typename: "ProvisionerDrainRequested"; reason: string };

const mostSlots = 64;

/** The connections that receive work: one stream each. */
const receiving = new WeakSet<ProvisionerActor>();

/**
 * Streams work to the calling daemon, which runs at most `slots` jobs at a time: jobs, requests to cancel one, and
 * before the server stops the request to connect again. A rejected call throws before this resolves.
 */
export async function receiveWork(ctx: Context, { slots }: { slots: number }): Promise<Watch<WorkEvent>> {
  const daemon = callingDaemon(ctx);
  /** Jobs of which the daemon knows that it must cancel them. */
  let canceled = new Set<string>();

  return watching<ProvisionerActor, WorkEvent>(ctx, {
    while: callingDaemon,
    hints: () => [workHint(daemon.organizationId), daemonHint(daemon.id)],
    period: 5,
    onBegin() {
      if (slots < 1 || slots > mostSlots)
        throw badInput([{ field: "slots", detail: `Must be a whole number from 1 to ${mostSlots}.` }]);
      if (receiving.has(daemon)) throw conflict("This connection receives work already.");
      receiving.add(daemon);
      return [];
    },
    async read(fresh) {
      const { assigned, cancelRequested } = await ifThereIsWork(fresh, daemon.organizationId, () =>
        assignWork(fresh, daemon, slots),
      );
      const events: WorkEvent[] = cancelRequested
        .filter((jobId) => !canceled.has(jobId))
        .map((jobId) => ({ __typename: "ProvisionerJobCancelRequested", jobId }));
      canceled = new Set(cancelRequested);
      for (const job of assigned) events.push({ __typename: "ProvisionerJobAssigned", ...job });
      return { events, isMore: assigned.length === batchSize };
    },
    onUnsent: (events) => returnUnsent(ctx, daemon, events),
    onFailure: (error) =>
      ctx.log.warn({ err: error, daemonId: daemon.id }, "Work could not be assigned. It is tried again."),
    onEnd() {
      receiving.delete(daemon);
      const isRestart = ctx.signal.reason === "restart";
      return isRestart ? [{ __typename: "ProvisionerDrainRequested", reason: "The server restarts." }] : [];
    },
  });
}

/** The calling daemon. Throws FORBIDDEN for other callers, and for a daemon whose user may not connect it any more. */
function callingDaemon({ actor }: Context): ProvisionerActor {
  const daemon = authorizeMachine(actor, "provisioner_job:work");
  authorizeServing(daemon);
  return daemon;
}

/** Returns jobs that the daemon has not received, so that they do not wait until their lease expires. */
function returnUnsent({ services, log }: Context, daemon: ProvisionerActor, events: readonly WorkEvent[]): void {
  const jobIds = events.flatMap((event) => (event.__typename === "ProvisionerJobAssigned" ? [event.jobId] : []));
  if (jobIds.length === 0) return;
  returnWork(services, daemon, jobIds).catch((error: unknown) =>
    log.warn({ err: error, jobIds }, "Jobs were not returned to the queue. They wait for their lease."),
  );
}
