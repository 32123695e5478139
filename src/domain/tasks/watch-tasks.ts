import type { Context } from "../kernel/context.js";
import { badInput } from "../kernel/errors.js";
import { type Batch, type Wake, type Watch, watching } from "../kernel/watching.js";
import { findUser } from "../users/users.js";
import { accessHints } from "../workspaces/workspaces.js";
import { ownerHint, taskHint } from "./task-status.js";
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
      hints: ({ id: ownerId }) => changes.hints(ownerHint(ownerId).id),
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
    hints: () => [...changes.hints(taskHint(task.id).id), ...accessHints(ctx, task.workspaceId)],
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
  #workspaces = new Set<string>();
  /** Tasks whose queue changed. */
  readonly #touched = new Set<string>();

  /** The hints of the known tasks and their workspaces, and another one. */
  hints(hint: string): Wake[] {
    const wants = (id: string) => id === hint || this.#concerns(id);
    return [
      { topic: "tasks", wants },
      { topic: "builds", wants },
    ];
  }

  #concerns(id: string): boolean {
    const queueOf = id.startsWith("q:") ? id.slice(2) : undefined;
    if (queueOf === undefined) return this.#isKnown(id) || this.#workspaces.has(id);
    if (this.#isKnown(queueOf)) this.#touched.add(queueOf);
    return this.#isKnown(queueOf);
  }

  #isKnown = (id: string): boolean => this.#known?.has(id) ?? false;

  /** Selects the tasks that changed since the last call; none in the first one. */
  among(tasks: readonly TaskRow[]): Batch<TaskRow> {
    const known = this.#known;
    const events = known
      ? tasks.filter((task) => this.#touched.has(task.id) || known.get(task.id) !== printOf(task))
      : [];
    this.#touched.clear();
    this.#known = new Map(tasks.map((task) => [task.id, printOf(task)]));
    this.#workspaces = new Set(tasks.map(({ workspaceId }) => workspaceId));
    return { events };
  }
}
