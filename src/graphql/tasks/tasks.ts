import { Arg, Args, Ctx, FieldResolver, Query, Resolver, Root, Subscription } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import type { Page } from "../../domain/kernel/paging.js";
import { listTasks, TasksQuery } from "../../domain/tasks/task-list.js";
import { readTaskLogs, type TaskLogEntry, type TaskLogs, watchTaskMessages } from "../../domain/tasks/task-logs.js";
import { mostInputs, newestInputs, queuedInputs, type TaskMessageRow } from "../../domain/tasks/task-messages.js";
import { currentState, findTask, type TaskRow, type TaskState } from "../../domain/tasks/tasks.js";
import { readTaskHealth } from "../../domain/tasks/task-health.js";
import { watchTasks } from "../../domain/tasks/watch-tasks.js";
import { usersById } from "../../domain/users/users.js";
import type { WorkspaceHealth } from "../../domain/workspaces/workspace-health.js";
import { workspacesById } from "../../domain/workspaces/workspaces.js";
import { WorkspaceAgentHealthType } from "../agents/agents.js";
import { Access, watchedBy } from "../engine/access.js";
import { UUID } from "../engine/scalars.js";
import { PublicUserType } from "../users/users.js";
import { WorkspaceHealthType, WorkspaceType } from "../workspaces/workspaces.js";
import {
  TaskConnection,
  TaskInputType,
  TaskLogEntryType,
  TaskLogsType,
  TaskStateType,
  TaskType,
} from "./task-types.js";
import { argumentsOf } from "../engine/inputs.js";

const TasksArgs = argumentsOf(TasksQuery);

const reference = "The task: ID, or name among the tasks of the user.";
const ownerReference = "The owner, for a task given by name: ID, username, or `me`.";

@Resolver(() => TaskInputType)
export class TaskInputsResolver {
  @FieldResolver(() => PublicUserType, { description: "The user who sent it." })
  sender(@Root() { senderId }: TaskMessageRow, @Ctx() ctx: Context) {
    return ctx.load(usersById, senderId);
  }
}

@Resolver(() => TaskLogEntryType)
export class TaskLogEntriesResolver {
  @FieldResolver(() => PublicUserType, {
    nullable: true,
    description:
      "The user who sent it; null for the prompt, for output, and for inputs to programs that speak AgentAPI which ended more than 7 days ago.",
  })
  async sender(@Root() entry: TaskLogEntry, @Ctx() ctx: Context) {
    const id = await entry.sender(ctx);
    return id === null ? null : ctx.load(usersById, id);
  }
}

@Resolver(() => TaskType)
export class TasksResolver {
  @FieldResolver(() => TaskStateType, {
    nullable: true,
    description: "The current state of the task; null if it is not known.",
  })
  currentState(@Root() task: TaskRow): TaskState | null {
    return currentState(task);
  }

  @FieldResolver(() => WorkspaceAgentHealthType, {
    nullable: true,
    description: "Health of the agent; null without one.",
  })
  workspaceAgentHealth(@Root() { agentId, agentHealthReason: reason }: TaskRow): WorkspaceAgentHealthType | null {
    return agentId === null ? null : { healthy: reason === null, reason };
  }

  @FieldResolver(() => WorkspaceHealthType, {
    description: "Its health, by its status, build, agent, and app: why it does not work, and what helps.",
  })
  health(@Root() task: TaskRow, @Ctx() ctx: Context): Promise<WorkspaceHealth> {
    return readTaskHealth(ctx, task);
  }

  @FieldResolver(() => PublicUserType, { description: "The owner." })
  owner(@Root() { ownerId }: TaskRow, @Ctx() ctx: Context) {
    return ctx.load(usersById, ownerId);
  }

  @FieldResolver(() => WorkspaceType, { nullable: true, description: "The workspace." })
  workspace(@Root() { workspaceId }: TaskRow, @Ctx() ctx: Context) {
    return ctx.load(workspacesById, workspaceId);
  }

  @FieldResolver(() => TaskLogsType, {
    description:
      "The conversation: live if the task is active and the caller may connect to its apps, else as stored last.",
  })
  logs(@Root() task: TaskRow, @Ctx() ctx: Context): Promise<TaskLogs> {
    return readTaskLogs(ctx, task);
  }

  @Access({ countsAs: 20 })
  @FieldResolver(() => [TaskInputType], { description: "The inputs that are not delivered yet, in their order." })
  queuedInputs(@Root() { id }: TaskRow, @Ctx() ctx: Context): Promise<TaskMessageRow[]> {
    return ctx.load(queuedInputs, id);
  }

  @Access({ countsAs: mostInputs })
  @FieldResolver(() => [TaskInputType], {
    description: `The ${mostInputs} newest inputs, in their order, whatever became of them. Kept until 7 days after their end.`,
  })
  inputs(@Root() { id }: TaskRow, @Ctx() ctx: Context): Promise<TaskMessageRow[]> {
    return ctx.load(newestInputs, id);
  }

  @Access({ needs: ["task:read"] })
  @Query(() => TaskType, { nullable: true, description: "Returns a task." })
  task(
    @Arg("task", { description: reference }) task: string,
    @Arg("user", { defaultValue: "me", description: ownerReference }) user: string,
    @Ctx() ctx: Context,
  ): Promise<TaskRow> {
    return findTask(ctx, { task, user });
  }

  @Access({ needs: ["task:read"] })
  @Query(() => TaskConnection, { description: "Lists the tasks that the caller may read, newest first." })
  tasks(@Args(() => TasksArgs) args: TasksQuery, @Ctx() ctx: Context): Promise<Page<TaskRow>> {
    return listTasks(ctx, args);
  }

  @Access({ needs: ["task:read"] })
  @Subscription(() => TaskType, {
    subscribe: watchedBy(watchTasks),
    description:
      "Sends a task, given by ID, as it is and after each change, until it is deleted or not readable any more; or the tasks of a user after their changes. At most one event per task in 250 ms.",
  })
  taskChanged(
    @Arg("id", () => UUID, { nullable: true, description: "ID of a task. Either it or a user is required." })
    _id: string | undefined,
    @Arg("user", () => String, { nullable: true, description: "A user: ID, username, or `me`." })
    _user: string | undefined,
    @Root() task: TaskRow,
  ): TaskRow {
    return task;
  }

  @Access({ needs: ["task:read", "workspace:application_connect"] })
  @Subscription(() => TaskLogEntryType, {
    subscribe: watchedBy(watchTaskMessages),
    description:
      "Sends the entries of the conversation of an active task, and again those that the program changes. Ends with the program.",
  })
  taskMessages(
    @Arg("id", () => UUID, { description: "ID of the task." }) _id: string,
    @Root() entry: TaskLogEntry,
  ): TaskLogEntry {
    return entry;
  }
}
