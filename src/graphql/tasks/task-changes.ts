import { Arg, Ctx, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  deleteTask,
  DeleteTask,
  pauseTask,
  resumeTask,
  type TaskBuild,
  updateTaskInput,
  UpdateTaskInput,
} from "../../domain/tasks/task-changes.js";
import { createTask, CreateTask } from "../../domain/tasks/create-task.js";
import {
  cancelTaskInput,
  CancelTaskInput,
  editTaskInput,
  EditTaskInput,
  sendTaskInput,
  SendTaskInput,
} from "../../domain/tasks/inputs.js";
import { uploadTaskLogSnapshot, UploadTaskLogSnapshot } from "../../domain/tasks/task-logs.js";
import { messageById } from "../../domain/tasks/task-messages.js";
import { TaskReference, tasksById } from "../../domain/tasks/tasks.js";
import { buildsByIds } from "../../domain/workspaces/builds.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { UUID } from "../engine/scalars.js";
import { inputType } from "../engine/inputs.js";
import { WorkspaceBuildType } from "../workspaces/builds.js";
import { TaskInputType, TaskType } from "./task-types.js";

export const CreateTaskInput = inputType("CreateTaskInput", CreateTask);

export const DeleteTaskInput = inputType("DeleteTaskInput", DeleteTask);

export const PauseTaskInput = inputType("PauseTaskInput", TaskReference);

export const ResumeTaskInput = inputType("ResumeTaskInput", TaskReference);

export const UpdateTaskInputInput = inputType("UpdateTaskInputInput", UpdateTaskInput);

export const SendTaskInputInput = inputType("SendTaskInputInput", SendTaskInput);

export const EditTaskInputInput = inputType("EditTaskInputInput", EditTaskInput);

export const CancelTaskInputInput = inputType("CancelTaskInputInput", CancelTaskInput);

export const UploadTaskLogSnapshotInput = inputType("UploadTaskLogSnapshotInput", UploadTaskLogSnapshot);

const changedTask = { task: { type: () => TaskType, description: "The task.", covers: "everything" } } as const;
const builtTask = {
  ...changedTask,
  workspaceBuild: { type: () => WorkspaceBuildType, description: "The build.", covers: "everything" },
} as const;
const changedInput = {
  taskInput: { type: () => TaskInputType, description: "The input.", covers: "everything" },
} as const;

/** The payload of a mutation that changes a task, which is read if selected. */
const readChangedTask = (ctx: Context, id: string) => ({ task: () => ctx.load(tasksById, id) });

/** The payload of a mutation that begins a build for a task. */
const readBegunBuild = (ctx: Context, { taskId, buildId }: TaskBuild) => ({
  ...readChangedTask(ctx, taskId),
  workspaceBuild: () => ctx.load(buildsByIds, buildId),
});

@Resolver()
export class TaskChangesResolver {
  @Access({ needs: ["task:create", "template:use"] })
  @Mutates(
    "Creates a task with a workspace of the same name, and starts it. FORBIDDEN while the AI budget of the owner is spent.",
    changedTask,
  )
  async createTask(
    @Arg("input", () => CreateTaskInput, { description: "The prompt, and what to run it with." })
    input: CreateTask,
    @Ctx() ctx: Context,
  ) {
    return readChangedTask(ctx, await createTask(ctx, input));
  }

  @Access({ needs: ["task:delete"] })
  @Mutates(
    "Deletes a task immediately, and begins to delete its workspace. CONFLICT while a build runs, unless `duringBuild` is true; one that waits is canceled.",
    {
      task: { type: () => TaskType, description: "The task before the deletion.", covers: "everything" },
    },
  )
  async deleteTask(
    @Arg("input", () => DeleteTaskInput, { description: "The task." }) input: DeleteTask,
    @Ctx() ctx: Context,
  ) {
    return { task: await deleteTask(ctx, input) };
  }

  @Access({ needs: ["task:update"] })
  @Mutates("Replaces the prompt with which a paused task resumes.", changedTask)
  async updateTaskInput(
    @Arg("input", () => UpdateTaskInputInput, { description: "The task and its prompt." })
    input: UpdateTaskInput,
    @Ctx() ctx: Context,
  ) {
    return readChangedTask(ctx, await updateTaskInput(ctx, input));
  }

  @Access({ needs: ["workspace:stop"] })
  @Mutates("Pauses a task: stops its workspace.", builtTask)
  async pauseTask(
    @Arg("input", () => PauseTaskInput, { description: "The task." }) input: TaskReference,
    @Ctx() ctx: Context,
  ) {
    return readBegunBuild(ctx, await pauseTask(ctx, input));
  }

  @Access({ needs: ["workspace:start"] })
  @Mutates("Resumes a paused task, or tries again after a build that failed or was canceled.", builtTask)
  async resumeTask(
    @Arg("input", () => ResumeTaskInput, { description: "The task." }) input: TaskReference,
    @Ctx() ctx: Context,
  ) {
    return readBegunBuild(ctx, await resumeTask(ctx, input));
  }

  @Access({ needs: ["workspace:application_connect"] })
  @Mutates(
    "Sends an input to the program of an active task: immediately if the program waits for it, otherwise in the order of the queue.",
    changedInput,
  )
  async sendTaskInput(
    @Arg("input", () => SendTaskInputInput, { description: "The task and the text." }) input: SendTaskInput,
    @Ctx() ctx: Context,
  ) {
    const id = await sendTaskInput(ctx, input);
    return { taskInput: () => ctx.load(messageById, id) };
  }

  @Access({ needs: ["workspace:application_connect"] })
  @Mutates(
    "Replaces the text of a queued input, which keeps its place in the queue; the caller becomes its sender. For callers who may send inputs to the task, and who sent this one or may update the task. CONFLICT once its delivery has begun.",
    changedInput,
  )
  async editTaskInput(
    @Arg("input", () => EditTaskInputInput, { description: "The input and its text." }) input: EditTaskInput,
    @Ctx() ctx: Context,
  ) {
    const edited = await editTaskInput(ctx, input);
    return { taskInput: () => ctx.load(messageById, edited) };
  }

  @Access({ needs: ["task:update"] })
  @Mutates("Cancels a queued input. For its sender, and for callers who may update the task.", changedInput)
  async cancelTaskInput(
    @Arg("input", () => CancelTaskInputInput, { description: "The input." }) { id }: CancelTaskInput,
    @Ctx() ctx: Context,
  ) {
    const canceled = await cancelTaskInput(ctx, id);
    return { taskInput: () => ctx.load(messageById, canceled) };
  }

  @Access({ ignoresUsers: true, openTo: ["agent"] })
  @Mutates("Stores the conversation of the task of the agent's workspace. One of an older build is ignored.", {
    taskId: { type: () => UUID, description: "ID of the task." },
  })
  async uploadTaskLogSnapshot(
    @Arg("input", () => UploadTaskLogSnapshotInput, { description: "The task and the conversation." })
    input: UploadTaskLogSnapshot,
    @Ctx() ctx: Context,
  ) {
    return { taskId: await uploadTaskLogSnapshot(ctx, input) };
  }
}
