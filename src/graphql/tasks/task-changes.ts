import { Arg, Ctx, Field, InputType, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  type DeleteTask,
  deleteTask,
  pauseTask,
  resumeTask,
  type TaskBuild,
  updateTaskInput,
} from "../../domain/tasks/task-changes.js";
import { createTask, type CreateTask } from "../../domain/tasks/create-task.js";
import { cancelTaskInput, type EditTaskInput, editTaskInput, sendTaskInput } from "../../domain/tasks/inputs.js";
import { largestSnapshot, uploadTaskLogSnapshot } from "../../domain/tasks/task-logs.js";
import { messageById } from "../../domain/tasks/task-messages.js";
import { type TaskReference, tasksById } from "../../domain/tasks/tasks.js";
import { buildsByIds } from "../../domain/workspaces/builds.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { JSONObject, UUID } from "../engine/scalars.js";
import { WorkspaceBuildType } from "../workspaces/builds.js";
import { TaskInputType, TaskType } from "./task-types.js";

const taskReference = "The task: ID, or name among the tasks of the user.";
const userReference = "The owner, for a task given by name: ID, username, or `me`. Default: `me`.";

@InputType({ description: "Input of `createTask`." })
export class CreateTaskInput implements CreateTask {
  @Field(() => String, { nullable: true, description: "The owner: ID, username, or `me`. Default: `me`." })
  user?: string | null;
  @Field(() => UUID, { description: "ID of a template version with an AI task." })
  templateVersionId!: string;
  @Field(() => UUID, { nullable: true, description: "ID of a preset of the version. The zero UUID means none." })
  templateVersionPresetId?: string | null;
  @Field(() => String, { nullable: true, description: "The prompt. Default: empty." }) input?: string | null;
  @Field(() => String, { nullable: true, description: "Name of the task and its workspace. Default: from the prompt." })
  name?: string | null;
  @Field(() => String, { nullable: true, description: "Name that people see. Default: first line of the prompt." })
  displayName?: string | null;
}

@InputType({ description: "Input of `deleteTask`." })
export class DeleteTaskInput implements DeleteTask {
  @Field({ description: taskReference }) task!: string;
  @Field(() => String, { nullable: true, description: userReference }) user?: string | null;
  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether to delete the task even while a build runs: the build is canceled, if the caller may cancel it, and the workspace is deleted when it has ended. Default: false.",
  })
  duringBuild?: boolean | null;
}

@InputType({ description: "Input of `pauseTask`." })
export class PauseTaskInput implements TaskReference {
  @Field({ description: taskReference }) task!: string;
  @Field(() => String, { nullable: true, description: userReference }) user?: string | null;
}

@InputType({ description: "Input of `resumeTask`." })
export class ResumeTaskInput implements TaskReference {
  @Field({ description: taskReference }) task!: string;
  @Field(() => String, { nullable: true, description: userReference }) user?: string | null;
}

@InputType({ description: "Input of `updateTaskInput`." })
export class UpdateTaskInputInput implements TaskReference {
  @Field({ description: taskReference }) task!: string;
  @Field(() => String, { nullable: true, description: userReference }) user?: string | null;
  @Field({ description: "The prompt of the next start." })
  input!: string;
}

@InputType({ description: "Input of `sendTaskInput`." })
export class SendTaskInputInput implements TaskReference {
  @Field({ description: taskReference }) task!: string;
  @Field(() => String, { nullable: true, description: userReference }) user?: string | null;
  @Field({ description: "The text for the program. White space alone is sent, too." })
  input!: string;
  @Field(() => Boolean, {
    nullable: true,
    description:
      "Whether to resume the task if it is paused: it gets the input once it is active. Needs the permission to start the workspace, and the scope `workspace:start`. Default: false.",
  })
  resume?: boolean | null;
}

@InputType({ description: "Input of `editTaskInput`." })
export class EditTaskInputInput implements EditTaskInput {
  @Field(() => UUID, { description: "ID of a queued input." }) id!: string;
  @Field({ description: "The text for the program. White space alone is sent, too." })
  input!: string;
}

@InputType({ description: "Input of `cancelTaskInput`." })
export class CancelTaskInputInput {
  @Field(() => UUID, { description: "ID of a queued input." }) id!: string;
}

@InputType({ description: "Input of `uploadTaskLogSnapshot`." })
export class UploadTaskLogSnapshotInput {
  @Field(() => UUID, { description: "ID of the task of the agent's workspace." }) taskId!: string;
  @Field({ description: "The format of the content: `agentapi`." })
  format!: string;
  @Field(() => JSONObject, {
    description: `The conversation: \`messages\` with \`id\`, \`role\`, \`content\` and \`time\`. JSON of more than ${largestSnapshot} bytes is rejected.`,
  })
  content!: Record<string, unknown>;
}

const changedTask = { task: { type: () => TaskType, description: "The task.", covers: "everything" } } as const;
const builtTask = {
  ...changedTask,
  workspaceBuild: { type: () => WorkspaceBuildType, description: "The build.", covers: "everything" },
} as const;
const changedInput = {
  taskInput: { type: () => TaskInputType, description: "The input.", covers: "everything" },
} as const;

/** The payload of a mutation that changes a task, which is read if selected. */
const changed = (ctx: Context, id: string) => ({ task: () => ctx.load(tasksById, id) });

/** The payload of a mutation that begins a build for a task. */
const built = (ctx: Context, { taskId, buildId }: TaskBuild) => ({
  ...changed(ctx, taskId),
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
    @Arg("input", { description: "The prompt, and what to run it with." })
    input: CreateTaskInput,
    @Ctx() ctx: Context,
  ) {
    return changed(ctx, await createTask(ctx, input));
  }

  @Access({ needs: ["task:delete"] })
  @Mutates(
    "Deletes a task immediately, and begins to delete its workspace. CONFLICT while a build runs, unless `duringBuild` is true; one that waits is canceled.",
    {
      task: { type: () => TaskType, description: "The task before the deletion.", covers: "everything" },
    },
  )
  async deleteTask(@Arg("input", { description: "The task." }) input: DeleteTaskInput, @Ctx() ctx: Context) {
    return { task: await deleteTask(ctx, input) };
  }

  @Access({ needs: ["task:update"] })
  @Mutates("Replaces the prompt with which a paused task resumes.", changedTask)
  async updateTaskInput(
    @Arg("input", { description: "The task and its prompt." })
    input: UpdateTaskInputInput,
    @Ctx() ctx: Context,
  ) {
    return changed(ctx, await updateTaskInput(ctx, input));
  }

  @Access({ needs: ["workspace:stop"] })
  @Mutates("Pauses a task: stops its workspace.", builtTask)
  async pauseTask(@Arg("input", { description: "The task." }) input: PauseTaskInput, @Ctx() ctx: Context) {
    return built(ctx, await pauseTask(ctx, input));
  }

  @Access({ needs: ["workspace:start"] })
  @Mutates("Resumes a paused task, or tries again after a build that failed or was canceled.", builtTask)
  async resumeTask(@Arg("input", { description: "The task." }) input: ResumeTaskInput, @Ctx() ctx: Context) {
    return built(ctx, await resumeTask(ctx, input));
  }

  @Access({ needs: ["workspace:application_connect"] })
  @Mutates(
    "Sends an input to the program of an active task: immediately if the program waits for it, otherwise in the order of the queue.",
    changedInput,
  )
  async sendTaskInput(
    @Arg("input", { description: "The task and the text." }) input: SendTaskInputInput,
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
    @Arg("input", { description: "The input and its text." }) input: EditTaskInputInput,
    @Ctx() ctx: Context,
  ) {
    const edited = await editTaskInput(ctx, input);
    return { taskInput: () => ctx.load(messageById, edited) };
  }

  @Access({ needs: ["task:update"] })
  @Mutates("Cancels a queued input. For its sender, and for callers who may update the task.", changedInput)
  async cancelTaskInput(
    @Arg("input", { description: "The input." }) { id }: CancelTaskInputInput,
    @Ctx() ctx: Context,
  ) {
    const canceled = await cancelTaskInput(ctx, id);
    return { taskInput: () => ctx.load(messageById, canceled) };
  }

  @Access({ noUsers: true, openTo: ["agent"] })
  @Mutates("Stores the conversation of the task of the agent's workspace. One of an older build is ignored.", {
    taskId: { type: () => UUID, description: "ID of the task." },
  })
  async uploadTaskLogSnapshot(
    @Arg("input", { description: "The task and the conversation." })
    input: UploadTaskLogSnapshotInput,
    @Ctx() ctx: Context,
  ) {
    return { taskId: await uploadTaskLogSnapshot(ctx, input) };
  }
}
