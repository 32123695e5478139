import { Arg, Ctx, Field, InputType, Mutation, ObjectType, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { deleteTask, pauseTask, resumeTask, updateTaskInput } from "../../domain/tasks/changes.js";
import { createTask, type CreateTask } from "../../domain/tasks/creation.js";
import { cancelTaskInput, sendTaskInput } from "../../domain/tasks/inputs.js";
import { largestSnapshot, uploadTaskLogSnapshot } from "../../domain/tasks/logs.js";
import { messageById } from "../../domain/tasks/messages.js";
import { type TaskReference, type TaskRow, tasksById } from "../../domain/tasks/tasks.js";
import { buildsByIds } from "../../domain/workspaces/builds.js";
import { Access } from "../engine/access.js";
import { JSONObject, UUID } from "../engine/scalars.js";
import { WorkspaceBuildType } from "../workspaces/builds.js";
import { TaskInputType, TaskType } from "./types.js";

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
export class DeleteTaskInput implements TaskReference {
  @Field({ description: taskReference }) task!: string;
  @Field(() => String, { nullable: true, description: userReference }) user?: string | null;
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

@ObjectType({ description: "The task that was changed." })
class TaskPayload {
  taskId!: string;

  @Access({ covers: "everything" })
  @Field(() => TaskType, { description: "The task." })
  task(@Root() { taskId }: TaskPayload, @Ctx() ctx: Context): Promise<TaskRow | undefined> {
    return ctx.load(tasksById, taskId);
  }
}

@ObjectType({ description: "Payload of `createTask`." })
export class CreateTaskPayload extends TaskPayload {}

@ObjectType({ description: "Payload of `updateTaskInput`." })
export class UpdateTaskInputPayload extends TaskPayload {}

@ObjectType({ description: "The task, and the build that was created for it." })
class TaskBuildPayload extends TaskPayload {
  buildId!: string;

  @Access({ covers: "everything" })
  @Field(() => WorkspaceBuildType, { description: "The build." })
  workspaceBuild(@Root() { buildId }: TaskBuildPayload, @Ctx() ctx: Context) {
    return ctx.load(buildsByIds, buildId);
  }
}

@ObjectType({ description: "Payload of `pauseTask`." })
export class PauseTaskPayload extends TaskBuildPayload {}

@ObjectType({ description: "Payload of `resumeTask`." })
export class ResumeTaskPayload extends TaskBuildPayload {}

@ObjectType({ simpleResolvers: true, description: "Payload of `deleteTask`." })
export class DeleteTaskPayload {
  @Access({ covers: "everything" })
  @Field(() => TaskType, { description: "The task before the deletion." })
  task!: TaskRow;
}

@ObjectType({ description: "The input that was sent or canceled." })
class TaskInputPayload {
  inputId!: string;

  @Access({ covers: "everything" })
  @Field(() => TaskInputType, { description: "The input." })
  taskInput(@Root() { inputId }: TaskInputPayload, @Ctx() ctx: Context) {
    return ctx.load(messageById, inputId);
  }
}

@ObjectType({ description: "Payload of `sendTaskInput`." })
export class SendTaskInputPayload extends TaskInputPayload {}

@ObjectType({ description: "Payload of `cancelTaskInput`." })
export class CancelTaskInputPayload extends TaskInputPayload {}

@ObjectType({ simpleResolvers: true, description: "Payload of `uploadTaskLogSnapshot`." })
export class UploadTaskLogSnapshotPayload {
  @Field(() => UUID, { description: "ID of the task." }) taskId!: string;
}

@Resolver()
export class TaskChangesResolver {
  @Access({ needs: ["task:create", "template:use"] })
  @Mutation(() => CreateTaskPayload, {
    description:
      "Creates a task with a workspace of the same name, and starts it. FORBIDDEN while the AI budget of the owner is spent.",
  })
  async createTask(
    @Arg("input", { description: "The prompt, and what to run it with." })
    input: CreateTaskInput,
    @Ctx() ctx: Context,
  ) {
    return { taskId: await createTask(ctx, input) };
  }

  @Access({ needs: ["task:delete"] })
  @Mutation(() => DeleteTaskPayload, {
    description:
      "Deletes a task immediately, and begins to delete its workspace. CONFLICT while a build runs; one that waits is canceled.",
  })
  async deleteTask(@Arg("input", { description: "The task." }) input: DeleteTaskInput, @Ctx() ctx: Context) {
    return { task: await deleteTask(ctx, input) };
  }

  @Access({ needs: ["task:update"] })
  @Mutation(() => UpdateTaskInputPayload, { description: "Replaces the prompt with which a paused task resumes." })
  async updateTaskInput(
    @Arg("input", { description: "The task and its prompt." })
    input: UpdateTaskInputInput,
    @Ctx() ctx: Context,
  ) {
    return { taskId: await updateTaskInput(ctx, input) };
  }

  @Access({ needs: ["workspace:stop"] })
  @Mutation(() => PauseTaskPayload, { description: "Pauses a task: stops its workspace." })
  async pauseTask(@Arg("input", { description: "The task." }) input: PauseTaskInput, @Ctx() ctx: Context) {
    return pauseTask(ctx, input);
  }

  @Access({ needs: ["workspace:start"] })
  @Mutation(() => ResumeTaskPayload, {
    description: "Resumes a paused task, or tries again after a build that failed or was canceled.",
  })
  async resumeTask(@Arg("input", { description: "The task." }) input: ResumeTaskInput, @Ctx() ctx: Context) {
    return resumeTask(ctx, input);
  }

  @Access({ needs: ["workspace:application_connect"] })
  @Mutation(() => SendTaskInputPayload, {
    description:
      "Sends an input to the program of an active task: immediately if the program waits for it, otherwise in the order of the queue.",
  })
  async sendTaskInput(
    @Arg("input", { description: "The task and the text." }) input: SendTaskInputInput,
    @Ctx() ctx: Context,
  ) {
    return { inputId: await sendTaskInput(ctx, input) };
  }

  @Access({ needs: ["task:update"] })
  @Mutation(() => CancelTaskInputPayload, {
    description: "Cancels a queued input. For its sender, and for callers who may update the task.",
  })
  async cancelTaskInput(
    @Arg("input", { description: "The input." }) { id }: CancelTaskInputInput,
    @Ctx() ctx: Context,
  ) {
    return { inputId: await cancelTaskInput(ctx, id) };
  }

  @Access({ noUsers: true, openTo: ["agent"] })
  @Mutation(() => UploadTaskLogSnapshotPayload, {
    description: "Stores the conversation of the task of the agent's workspace. One of an older build is ignored.",
  })
  async uploadTaskLogSnapshot(
    @Arg("input", { description: "The task and the conversation." })
    input: UploadTaskLogSnapshotInput,
    @Ctx() ctx: Context,
  ) {
    return { taskId: await uploadTaskLogSnapshot(ctx, input) };
  }
}
