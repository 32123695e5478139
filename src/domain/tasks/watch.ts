import { setTimeout as sleep } from "node:timers/promises";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { badInput } from "../kernel/errors.js";
import type { Subscription } from "../kernel/events.js";
import { findUser } from "../users/users.js";
import { ownerHint, taskHint } from "./hints.js";
import { currentState, findTask, isVisible, taskColumns, type TaskRow, taskRows, tasksById } from "./tasks.js";

/** Milliseconds for which changes are collected, and after which tasks are read again in case a hint was lost. */
const [gathering, interval] = [250, 30_000];

export interface WatchTasks {
  /** The id of a task. */
  id?: string | null;
  /** Id, username or `me`: all tasks of the user. */
  user?: string | null;
}

// The 1,000 newest tasks, as in lists.
const tasksOfUser = statement<TaskRow>(`
  select ${taskColumns("$1::uuid")} from ${taskRows}
  where t.owner_id = $2 and t.deleted_at is null order by t.created_at desc, t.id desc limit 1000`);

/**
 * Streams a task, first as it is and then after each change, until it is deleted or not readable any more; or the tasks
 * of a user, each after a change. A rejected watch throws before this resolves.
 */
export async function watchTasks(ctx: Context, { id, user }: WatchTasks): Promise<AsyncIterable<TaskRow>> {
  if ((id == null) === (user == null))
    throw badInput([{ field: "id", detail: "Either the id of a task or a user is required." }]);
  if (id != null) {
    const task = await findTask(ctx, { task: id });
    const read = (fresh: Context) => tasksById(fresh, [task.id]);
    return new TaskWatch(ctx, read, taskHint(task.id).id, [], true);
  }
  const owner = await findUser(ctx, user!);
  const caller = requireUser(ctx.actor).userId;
  const read = (fresh: Context) => fresh.rows(tasksOfUser, caller, owner.id);
  return new TaskWatch(ctx, read, ownerHint(owner.id).id, await visible(ctx, read), false);
}

type ReadTasks = (ctx: Context) => Promise<Array<TaskRow | undefined>>;

async function visible(ctx: Context, read: ReadTasks): Promise<TaskRow[]> {
  const fresh = ctx.afresh();
  return (await read(fresh)).filter((task) => task !== undefined && isVisible(fresh, task)) as TaskRow[];
}

/** What of a task watchers see. */
const printOf = (task: TaskRow): string => {
  const { status, workspaceStatus, name, displayName, workspaceAgentLifecycle, agentHealthReason } = task;
  return JSON.stringify([
    status,
    workspaceStatus,
    currentState(task),
    name,
    displayName,
    task.initialPrompt,
    workspaceAgentLifecycle,
    agentHealthReason,
  ]);
};

/** Not a generator, because `return()` of a waiting generator takes effect only after the wait. */
class TaskWatch implements AsyncIterableIterator<TaskRow, undefined> {
  /** What was sent of each task, and its workspace, whose hints concern it. */
  #known = new Map<string, string>();
  #workspaces = new Set<string>();
  /** Tasks whose queue changed. */
  readonly #touched = new Set<string>();
  #ready: TaskRow[] = [];
  #woken = Promise.withResolvers<void>();
  readonly #subscriptions: Subscription[];
  readonly #timer: NodeJS.Timeout;
  #isOver = false;

  constructor(
    private readonly ctx: Context,
    private readonly read: ReadTasks,
    private readonly hint: string,
    known: readonly TaskRow[],
    /** Whether the watch is of one task, and ends with it. */
    private readonly isSingle: boolean,
  ) {
    this.#remember(known);
    const { events } = ctx.services;
    this.#subscriptions = (["tasks", "builds"] as const).map((topic) =>
      events.subscribeAll(
        topic,
        (id) => this.#hinted(id),
        () => this.#woken.resolve(),
      ),
    );
    this.#timer = setInterval(() => this.#woken.resolve(), interval).unref();
    if (isSingle) this.#woken.resolve();
    ctx.signal.addEventListener("abort", this);
    if (ctx.signal.aborted) this.#end();
  }

  async next(): Promise<IteratorResult<TaskRow, undefined>> {
    try {
      while (!this.#isOver) {
        const task = this.#ready.shift();
        if (task) return { done: false, value: task };
        await this.#woken.promise;
        // The first state of a single task does not wait.
        if (this.#known.size > 0 || !this.isSingle) await sleep(gathering, undefined, { ref: false });
        this.#woken = Promise.withResolvers();
        if (!this.#isOver) await this.#look();
      }
      return { done: true, value: undefined };
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<TaskRow, undefined>> {
    this.#end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Handles the abort of the signal. */
  handleEvent(): void {
    this.#end();
  }

  #hinted(id: string): void {
    const queueOf = id.startsWith("q:") ? id.slice(2) : undefined;
    if (queueOf !== undefined && this.#known.has(queueOf)) this.#touched.add(queueOf);
    else if (id !== this.hint && !this.#known.has(id) && !this.#workspaces.has(id)) return;
    this.#woken.resolve();
  }

  /** Reads the tasks, and keeps those that changed. */
  async #look(): Promise<void> {
    const tasks = await visible(this.ctx, this.read);
    const touched = new Set(this.#touched);
    this.#touched.clear();
    this.#ready = tasks.filter((task) => touched.has(task.id) || this.#known.get(task.id) !== printOf(task));
    this.#remember(tasks);
    if (this.isSingle && tasks.length === 0) this.#end();
  }

  #remember(tasks: readonly TaskRow[]): void {
    this.#known = new Map(tasks.map((task) => [task.id, printOf(task)]));
    this.#workspaces = new Set(tasks.map(({ workspaceId }) => workspaceId));
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ready = [];
    for (const subscription of this.#subscriptions) subscription.close();
    clearInterval(this.#timer);
    this.ctx.signal.removeEventListener("abort", this);
    this.#woken.resolve();
  }
}
