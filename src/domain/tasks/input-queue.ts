import { type InferResult, sql, type SqlBool } from "kysely";
import type { Config } from "../../runtime/config.js";
import type { Db } from "../../infrastructure/database/database.js";
import { type Services, systemContext } from "../kernel/context.js";
import type { Subscription } from "../../runtime/events.js";
import { after, anyOf, now } from "../kernel/queries.js";
import { backOff, claimIds, type Queue, Worker } from "../kernel/queue.js";
import { AgentUnreachable, type AppPlace } from "../../infrastructure/agent-api.js";
import { appPlace, confirm, confirmation, deliver, newestOf } from "./input-delivery.js";
import { idleConversation, requestInput } from "./task-actions.js";
import { isUnfinished, type TaskInputState } from "./task-messages.js";
import { inputsHint, queueHint, takesInputs } from "./task-status.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const t = columnsOf("tasks", "t");
const m = columnsOf("taskMessages", "m");

/** Milliseconds for which a process delivers the inputs of a task, unless it renews the lease. */
const lease = 60_000;

/**
 * Milliseconds for which an input in delivery belongs to the process that began it: longer than it takes to send an input
 * and to look for it in the conversation. After that, the process has ended.
 */
export const holdTime = ({ taskAppSendTimeout, taskAppTimeout }: Config): number =>
  Math.max(lease, taskAppSendTimeout + taskAppTimeout + 2 * confirmation.within);

/** Milliseconds that one input may take: to read the state and the conversation, to send it, and to confirm it. */
const longest = 55_000;

/** Milliseconds until the next look at a program that is busy, one that is unreachable, and a task that is not active. */
const pauses = {
  busy: { first: 2_000, most: 30_000 },
  unreachable: { first: 2_000, most: 60_000 },
  inactive: { first: 2_000, most: 30_000 },
};

/** Number of tasks whose inputs a server process delivers at a time, and milliseconds between reads of the queues. */
const concurrency = 50;
const interval = 2_000;

/** The tasks with inputs that are due. The first open input of a task decides: inputs are delivered in their order. */
const dueTasks = (db: Db) =>
  db
    .selectFrom("tasks as t")
    .innerJoin(
      (eb) =>
        eb
          .selectFrom("taskMessages as m")
          .distinctOn("m.taskId")
          .select(["m.taskId", "m.nextAttemptAt"])
          .where(isUnfinished)
          .orderBy("m.taskId")
          .orderBy("m.seq")
          .as("head"),
      (join) => join.onRef("head.taskId", "=", "t.id"),
    )
    .select("t.id")
    .where(sql<SqlBool>`head.next_attempt_at <= now() and coalesce(${t.deliveringUntil}, '-infinity') <= now()`)
    .orderBy("head.nextAttemptAt");

/** Tasks, each leased by the process that delivers its inputs. */
const taskQueue = (db: Db): Queue<string, void> => ({
  async lease(most) {
    const leased = await db
      .updateTable("tasks")
      .where("id", "=", claimIds(dueTasks(db), most, "t"))
      .set({ deliveringUntil: after(lease) })
      .returning("id")
      .execute();
    return leased.map(({ id }) => id);
  },
  settle: (attempts) =>
    db
      .updateTable("tasks")
      .where("id", "=", anyOf(attempts.map(({ item }) => item)))
      .set({ deliveringUntil: null })
      .execute(),
});

/** Selects the first open input of a task, and what decides about its delivery. */
const headOf = (db: Db, taskId: string, lifetime: number) =>
  db
    .selectFrom("taskMessages as m")
    .innerJoin("tasks as t", "t.id", "m.taskId")
    .innerJoin("workspaces as w", "w.id", "t.workspaceId")
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom("taskBuilds as latest")
          .select(["latest.buildNumber", "latest.agentId", "latest.appId"])
          .whereRef("latest.taskId", "=", "t.id")
          .orderBy("latest.buildNumber", "desc")
          .limit(1)
          .as("s"),
      (join) => join.onTrue(),
    )
    .leftJoin("workspaceApps as p", "p.id", "s.appId")
    .where("t.id", "=", taskId)
    .where("t.deletedAt", "is", null)
    .where(isUnfinished)
    .orderBy("m.seq")
    .limit(1)
    .select(["m.id", "m.content", "m.state", "m.attempts", "m.newestBefore", "t.status"])
    .select((eb) => [
      // False if it waits for another attempt, or another process is delivering it.
      sql<boolean>`${m.nextAttemptAt} <= now()`.as("isDue"),
      sql<boolean>`${m.createdAt} <= now() - make_interval(secs => ${lifetime / 1000})`.as("isExpired"),
      // Whether the workspace is started and not about to stop.
      eb("w.latestStatus", "=", "running").as("isStarted"),
      "p.url as appUrl",
      "s.agentId",
      takesInputs.as("takesInputs"),
    ]);

type Head = InferResult<ReturnType<typeof headOf>>[number];

/** Ends an attempt. Without effect on an input in another state: a process that lost its lease changes nothing. */
const ending = (db: Db, { id, state }: Pick<Head, "id" | "state">, detail: string) =>
  db
    .updateTable("taskMessages")
    .where("id", "=", id)
    .where("state", "=", state)
    .set((eb) => ({ attempts: eb("attempts", "+", 1), lastError: detail.slice(0, 512) }));

/** Stores the end of an input. Without effect if it is not in the expected state any more. */
export async function finishInput(
  { database: { db }, events }: Pick<Services, "database" | "events">,
  input: Pick<Head, "id" | "state">,
  state: TaskInputState,
  detail = "",
): Promise<void> {
  const ended = await ending(db, input, detail)
    .set({ state, finishedAt: now, deliveredAt: state === "delivered" ? now : null })
    .returning("taskId")
    .executeTakeFirst();
  if (ended) events.publish(queueHint(ended.taskId));
}

/** Delivers the queued inputs of tasks. One per server process; each task has one deliverer at a time, by a lease. */
export class InputQueue {
  readonly #worker: Worker<string, void>;
  #hints: Subscription | undefined;

  constructor(private readonly services: Services) {
    const { database, log } = services;
    const attempt = (taskId: string, signal: AbortSignal) => this.#deliverAll(taskId, signal);
    this.#worker = new Worker({ queue: taskQueue(database.db), attempt, concurrency, interval, timeout: longest, log });
  }

  start(): void {
    this.#hints = this.services.events.subscribe(inputsHint.topic, inputsHint.id, this.#worker.wake);
    this.#worker.start();
  }

  async close(): Promise<void> {
    this.#hints?.close();
    await this.#worker.close();
  }

  /** Delivers the inputs of a task until one has to wait. */
  async #deliverAll(taskId: string, signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted && (await this.#deliverNext(taskId)));
    } catch (error) {
      this.services.log.warn({ err: error, taskId }, "An input of a task could not be delivered. It is tried again.");
    }
  }

  /** Delivers the first input of a task. Returns whether to go on with the next one. */
  async #deliverNext(taskId: string): Promise<boolean> {
    const { config, agentApi } = this.services;
    const { db } = this.services.database;
    await db
      .updateTable("tasks")
      .where("id", "=", taskId)
      .set({ deliveringUntil: after(lease) })
      .execute();
    const head = await headOf(db, taskId, config.taskQueueTtl).executeTakeFirst();
    if (!head?.isDue) return false;
    const place = await appPlace(this.services, head);
    // The agent has it, and says when its program has taken it, or has ended.
    if (head.state === "delivering" && head.newestBefore === null) return this.#leave(head);
    if (head.state === "delivering") return this.#resolve(head, place);
    if (head.isExpired) return this.#end(head, "expired");
    if (head.status !== "active" || !head.isStarted) return this.#wait(head, "inactive");
    if (head.takesInputs) return (await this.#handOver(taskId, head)) ? true : this.#wait(head, "busy");
    if (place === undefined) return this.#wait(head, "inactive");
    try {
      if ((await agentApi.status(place)) === "running") return await this.#wait(head, "busy");
      const newest = await newestOf(agentApi, place);
      // Its text may have been edited meanwhile.
      const begun = await db
        .updateTable("taskMessages")
        .where("id", "=", head.id)
        .where("state", "=", "queued")
        .set({ state: "delivering", newestBefore: newest, nextAttemptAt: after(holdTime(config)) })
        .returning(["content", "state"])
        .executeTakeFirst();
      return begun ? await this.#send({ ...head, ...begun }, place, newest) : true;
    } catch (error) {
      if (!(error instanceof AgentUnreachable)) throw error;
      return this.#wait(head, "unreachable", error.message);
    }
  }

  /** Lets the agent of a task take an input, if its program waits. Returns whether it does. */
  async #handOver(taskId: string, { id }: Head): Promise<boolean> {
    const ctx = systemContext(this.services);
    return ctx.transactional(async () => {
      const conversation = await idleConversation(ctx, taskId);
      if (!conversation) return false;
      const begun = await ctx.db
        .updateTable("taskMessages")
        .where("id", "=", id)
        .where("state", "=", "queued")
        .set({ state: "delivering", newestBefore: null, nextAttemptAt: after(holdTime(this.services.config)) })
        .returning("id")
        .executeTakeFirst();
      if (begun) await requestInput(ctx, conversation, id);
      return true;
    });
  }

  async #leave({ id }: Head): Promise<boolean> {
    await this.services.database.db
      .updateTable("taskMessages")
      .where("id", "=", id)
      .set({ nextAttemptAt: after(holdTime(this.services.config)) })
      .execute();
    return false;
  }

  async #send(head: Head, place: AppPlace, newest: number): Promise<boolean> {
    const outcome = await deliver(this.services, place, head.content, newest);
    if (outcome.state === "unsent") return this.#wait(head, "unreachable", outcome.detail);
    return this.#end(head, outcome.state, "detail" in outcome ? outcome.detail : "");
  }

  /** Ends an input whose delivery another process began and did not finish: it is never sent again. */
  async #resolve(head: Head, place: AppPlace | undefined): Promise<boolean> {
    const unknown = { state: "unconfirmed", detail: "The server ended before the response." } as const;
    const { content, newestBefore } = head;
    const outcome =
      place === undefined ? unknown : await confirm(this.services.agentApi, place, content, newestBefore ?? -1);
    return this.#end(head, outcome.state === "delivered" ? "delivered" : "unconfirmed", unknown.detail);
  }

  async #end(head: Head, state: TaskInputState, detail = ""): Promise<boolean> {
    await finishInput(this.services, head, state, state === "delivered" ? "" : detail);
    return true;
  }

  async #wait(head: Head, reason: keyof typeof pauses, detail = ""): Promise<boolean> {
    await ending(this.services.database.db, head, detail)
      .set({ state: "queued", nextAttemptAt: after(backOff(head.attempts, pauses[reason])) })
      .execute();
    return false;
  }
}
