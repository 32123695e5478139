import type { Context } from "../kernel/context.js";
import { badInput } from "../kernel/errors.js";
import type { Hint } from "../../runtime/events.js";
import { type Batch, ChangingHints, type Wake, type Watch, watching } from "../kernel/watching.js";
import { findUser } from "../users/users.js";
import { accessHints, workspaceHint } from "../workspaces/workspaces.js";
import { ownerHint, queueHint, taskHint } from "./task-status.js";
import { currentState, findTask, isVisible, liveTasks, type TaskRow, tasksById } from "./tasks.js";

/** Milliseconds for which changes are collected. */
const batchDelay = 250;

/** Maximum number of tasks of a user that are watched: the newest, as in lists. */
const mostWatched = 1000;

export interface WatchTasks {
  /** The id of a task. */
  id?: string | null;
  /** Id, username or `me`: all tasks of the user. */
  user?: string | null;
}

/**
 * Streams a task, first as it is and then after each change, until it is deleted or not readable any more; or the tasks
 * of a user, each after a change. A rejected watch throws before this resolves.
 */
export async function watchTasks(ctx: Context, { id, user }: WatchTasks): Promise<Watch<TaskRow>> {
  if ((id == null) === (user == null))
    throw badInput([{ field: "id", detail: "Either the id of a task or a user is required." }]);
  const changes = new TaskChanges();
  if (user != null) {
    return watching(ctx, {
      while: (fresh) => findUser(fresh, user),
      hints: ({ id: ownerId }) => changes.hints(ownerHint(ownerId)),
      async read(fresh, owner) {
        const newest = liveTasks(fresh)
          .where("t.ownerId", "=", owner.id)
          .orderBy("t.createdAt", "desc")
          .orderBy("t.id", "desc");
        return changes.among(visibleTo(fresh, await newest.limit(mostWatched).execute()));
      },
      batchDelay,
    });
  }
  const task = await findTask(ctx, { task: id! });
  changes.among([]);
  return watching(ctx, {
    while: async (fresh) => visibleTo(fresh, await tasksById(fresh, [task.id]))[0],
    hints: () => [...changes.hints(taskHint(task.id)), ...accessHints(ctx, task.workspaceId)],
    read: async (_, now) => changes.among([now]),
    batchDelay,
  });
}

const visibleTo = (ctx: Context, tasks: ReadonlyArray<TaskRow | undefined>): TaskRow[] =>
  tasks.filter((task) => task !== undefined).filter((task) => isVisible(ctx, task));

/** The part of a task that watchers see. */
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

/** Knows what was sent of each task, and which hints concern them. */
class TaskChanges {
  #known: Map<string, string> | undefined;
  /** Tasks whose queue changed. */
  readonly #touched = new Set<string>();
  readonly #queues = new Map<string, string>();
  readonly #hints = new ChangingHints(({ id }) => {
    const taskId = this.#queues.get(id);
    if (taskId !== undefined) this.#touched.add(taskId);
  });

  /** The hints of the tasks that `among` has seen last, their queues, and their workspaces; and another one. */
  hints(hint: Hint): Wake[] {
    return [hint, this.#hints];
  }

  /** Selects the tasks that changed since the last call; none in the first one. */
  among(tasks: readonly TaskRow[]): Batch<TaskRow> {
    const known = this.#known;
    const events = known
      ? tasks.filter((task) => this.#touched.has(task.id) || known.get(task.id) !== printOf(task))
      : [];
    this.#touched.clear();
    this.#known = new Map(tasks.map((task) => [task.id, printOf(task)]));
    this.#queues.clear();
    for (const { id } of tasks) this.#queues.set(queueHint(id).id, id);
    this.#hints.replace(
      tasks.flatMap(({ id, workspaceId }) => [taskHint(id), queueHint(id), workspaceHint(workspaceId)]),
    );
    return { events };
  }
}
