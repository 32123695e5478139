import type { Config } from "../../config/config.js";
import type { Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import type { Subscription } from "../kernel/events.js";
import type { AttemptResult, QueueItem } from "../kernel/queue.js";
import { Worker } from "../kernel/worker.js";
import { AgentUnreachable } from "../outside/agent-api.js";
import { appBase } from "./app.js";
import { confirm, confirmation, deliver, newestOf } from "./delivery.js";
import { inputsHint, queueHint } from "./hints.js";
import { openStates, type TaskInputState } from "./messages.js";
import { type TaskStatus, taskTables } from "./status.js";

/** Seconds for which a process delivers the inputs of a task, unless it renews the lease. */
const leaseSeconds = 60;

/**
 * Seconds for which an input in delivery belongs to the process that began it: longer than it takes to send an input and
 * to look for it in the conversation. After that, the process has ended.
 */
export const holdSeconds = ({ taskAppSendTimeout, taskAppTimeout }: Config): number =>
  Math.max(leaseSeconds, (taskAppSendTimeout + taskAppTimeout + 2 * confirmation.within) / 1000);

/** Milliseconds that one input may take: to read the state and the conversation, to send it, and to confirm it. */
const longest = 55_000;

/** Seconds until the next look at a program that is busy, one that is unreachable, and a task that is not active. */
const pauses = {
  busy: { first: 2, most: 30 },
  unreachable: { first: 2, most: 60 },
  inactive: { first: 30, most: 30 },
};

/** Number of tasks whose inputs a server process delivers at a time, and milliseconds between reads of the queues. */
const concurrency = 50;
const interval = 2_000;

// The first open input of a task decides: inputs are delivered strictly in their order.
const leaseTasks = statement<QueueItem>(`
  with heads as (
    select distinct on (task_id) task_id, next_attempt_at from task_messages
    where state in ${openStates} order by task_id, seq
  ), due as (
    select t.id from heads join tasks t on t.id = heads.task_id
    where heads.next_attempt_at <= now() and coalesce(t.delivering_until, '-infinity') <= now()
    order by heads.next_attempt_at limit $1 for no key update of t skip locked
  )
  update tasks t set delivering_until = now() + interval '${leaseSeconds} s' from due where t.id = due.id
  returning t.id, 0 as "attemptsLeft"`);

const releaseTasks = statement(`update tasks set delivering_until = null where id = any($1::uuid[])`);

/** The first open input of a task, and what decides about its delivery. */
interface Head {
  id: string;
  content: string;
  state: "queued" | "delivering";
  attempts: number;
  newestBefore: number | null;
  /** False if it waits for another attempt, or another process is delivering it. */
  isDue: boolean;
  isExpired: boolean;
  status: TaskStatus;
  /** Whether the workspace is started and not about to stop. */
  isStarted: boolean;
  appUrl: string | null;
}

const headOf = statement<Head>(`
  with renewed as (update tasks set delivering_until = now() + interval '${leaseSeconds} s' where id = $1)
  select m.id, m.content, m.state, m.attempts, m.newest_before as "newestBefore",
    m.next_attempt_at <= now() as "isDue", m.created_at <= now() - make_interval(secs => $2) as "isExpired", t.status,
    w.latest_status = 'running' as "isStarted", p.url as "appUrl"
  from ${taskTables} join task_messages m on m.task_id = t.id and m.state in ${openStates}
  where t.id = $1 and t.deleted_at is null order by m.seq limit 1`);

const beginDelivery = statement<{ id: string }>(`
  update task_messages
  set state = 'delivering', newest_before = $2, next_attempt_at = now() + make_interval(secs => $3)
  where id = $1 and state = 'queued' returning id`);

// What an input is to become depends on the state in which a process has it: a process that lost its lease changes nothing.
const postpone = statement(`
  update task_messages set state = 'queued', attempts = attempts + 1, last_error = $2,
    next_attempt_at = now() + make_interval(secs => $3)
  where id = $1 and state = $4`);

const finish = statement<{ taskId: string }>(`
  update task_messages set state = $2, last_error = $3, attempts = attempts + 1, finished_at = now(),
    delivered_at = case when $2 = 'delivered' then now() end
  where id = $1 and state = $4 returning task_id as "taskId"`);

/** Stores the end of an input. Without effect if it is not in the expected state any more. */
export async function finishInput(
  { database, events }: Pick<Services, "database" | "events">,
  { id, state: from }: Pick<Head, "id" | "state">,
  state: TaskInputState,
  detail = "",
): Promise<void> {
  const [ended] = await database.query(finish, [id, state, detail.slice(0, 512), from]);
  if (ended) events.publish(queueHint(ended.taskId));
}

/** Delivers the queued inputs of tasks. One per server process; each task has one deliverer at a time, by a lease. */
export class InputQueue {
  readonly #worker: Worker<QueueItem>;
  #hints: Subscription | undefined;

  constructor(private readonly services: Services) {
    const { database, log } = services;
    const queue = {
      lease: async (most: number) => ({ token: "", items: await database.query(leaseTasks, [most]) }),
      settle: async (_: string, ended: ReadonlyArray<{ item: QueueItem }>) => {
        await database.query(releaseTasks, [ended.map(({ item }) => item.id)]);
      },
    };
    const attempt = ({ id }: QueueItem, signal: AbortSignal) => this.#deliverAll(id, signal);
    this.#worker = new Worker({ queue, attempt, concurrency, interval, timeout: longest, log });
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
  async #deliverAll(taskId: string, signal: AbortSignal): Promise<AttemptResult> {
    try {
      while (!signal.aborted && (await this.#deliverNext(taskId)));
      return { outcome: "done" };
    } catch (error) {
      this.services.log.warn({ err: error, taskId }, "An input of a task could not be delivered. It is tried again.");
      return { outcome: "retryable", detail: "" };
    }
  }

  /** Delivers the first input of a task. Returns whether to go on with the next one. */
  async #deliverNext(taskId: string): Promise<boolean> {
    const { database, config, agentApi } = this.services;
    const [head] = await database.query(headOf, [taskId, config.taskQueueTtl / 1000]);
    if (!head?.isDue) return false;
    const base = appBase(head.appUrl);
    if (head.state === "delivering") return this.#resolve(head, base);
    if (head.isExpired) return this.#end(head, "expired");
    if (head.status !== "active" || !head.isStarted || base === undefined) return this.#wait(head, "inactive");
    try {
      if ((await agentApi.status(base)) === "running") return await this.#wait(head, "busy");
      const newest = await newestOf(agentApi, base);
      const [begun] = await database.query(beginDelivery, [head.id, newest, holdSeconds(config)]);
      return begun ? await this.#send({ ...head, state: "delivering" }, base, newest) : true;
    } catch (error) {
      if (!(error instanceof AgentUnreachable)) throw error;
      return this.#wait(head, "unreachable", error.message);
    }
  }

  async #send(head: Head, base: string, newest: number): Promise<boolean> {
    const outcome = await deliver(this.services, base, head.content, newest);
    if (outcome.state === "unsent") return this.#wait(head, "unreachable", outcome.detail);
    return this.#end(head, outcome.state, "detail" in outcome ? outcome.detail : "");
  }

  /** Ends an input whose delivery another process began and did not finish: it is never sent again. */
  async #resolve(head: Head, base: string | undefined): Promise<boolean> {
    const unknown = { state: "unconfirmed", detail: "The server ended before the response." } as const;
    const { content, newestBefore } = head;
    const outcome =
      base === undefined ? unknown : await confirm(this.services.agentApi, base, content, newestBefore ?? -1);
    return this.#end(head, outcome.state === "delivered" ? "delivered" : "unconfirmed", unknown.detail);
  }

  async #end(head: Head, state: TaskInputState, detail = ""): Promise<boolean> {
    await finishInput(this.services, head, state, state === "delivered" ? "" : detail);
    return true;
  }

  async #wait({ id, state, attempts }: Head, reason: keyof typeof pauses, detail = ""): Promise<boolean> {
    const { first, most } = pauses[reason];
    const delay = Math.min(most, first * 2 ** Math.min(attempts, 10));
    await this.services.database.query(postpone, [id, detail.slice(0, 512), delay, state]);
    return false;
  }
}
