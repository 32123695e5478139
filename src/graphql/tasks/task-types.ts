import { Field, Int, ObjectType } from "type-graphql";
import { TaskFilter, TaskOrder } from "../../domain/tasks/task-list.js";
import { type TaskLogEntry, type TaskLogs, TaskLogType } from "../../domain/tasks/task-logs.js";
import { TaskInputState, type TaskMessageRow } from "../../domain/tasks/task-messages.js";
import { TaskStatus } from "../../domain/tasks/task-status.js";
import { type TaskRow, type TaskState, TaskStateKind } from "../../domain/tasks/tasks.js";
import { AgentLifecycle } from "../../domain/agents/agents.js";
import { WorkspaceStatus } from "../../domain/workspaces/workspaces.js";
import { Access } from "../engine/access.js";
import { enumType } from "../engine/declarations.js";
import { exactConnectionOf, orderType } from "../engine/lists.js";
import { DateTime, UUID } from "../engine/scalars.js";
import { inputType } from "../engine/inputs.js";

enumType({ TaskStatus }, "The state of a task, derived from its latest build, agent, and app.", {
  PENDING: "The workspace waits to be started.",
  INITIALIZING: "The workspace, the agent or the app is starting.",
  ACTIVE: "The app is healthy and takes input.",
  PAUSED: "The workspace is stopped.",
  ERROR: "The latest build failed or was canceled, the app is unhealthy, or the agent does not respond.",
  UNKNOWN: "The workspace runs, but has no app of the task.",
});

enumType(
  { TaskStateKind },
  "The state of the program of a task, as it reports it. `FAILED` is also the state of a task in error.",
  {
    WORKING: "It works.",
    IDLE: "It waits for input.",
    COMPLETE: "It has completed its work.",
    FAILED: "It has failed.",
  },
);

enumType({ TaskInputState }, "The state of an input of a task.", {
  QUEUED: "It waits for its delivery.",
  DELIVERING: "It is being delivered.",
  DELIVERED: "The program has received it.",
  FAILED: "The program rejected it, or could not be reached.",
  UNCONFIRMED: "It was sent, but its arrival could not be confirmed. It is not sent again.",
  EXPIRED: "It waited too long.",
  CANCELED: "It was canceled, or the task was deleted.",
});

enumType({ TaskLogType }, "Who wrote an entry of a conversation.", {
  INPUT: "A user.",
  OUTPUT: "The program.",
});

orderType("Task", TaskOrder, {
  CREATED_AT: "When the task was created.",
});

@Access({ readWith: "task:read" })
@ObjectType("TaskState", { simpleResolvers: true, description: "The current state of a task." })
export class TaskStateType implements TaskState {
  @Field(() => TaskStateKind, { description: "The kind of the state." }) state!: TaskStateKind;
  @Field({ description: "Message of the program, what an initializing task waits for, or why a task is in error." })
  message!: string;
  @Field(() => DateTime, { description: "When it was reported, or began." }) timestamp!: string;
  @Field({ description: "A link to the result; empty if there is none." }) uri!: string;
}

@Access({ readWith: "task:read" })
@ObjectType("TaskLogEntry", { simpleResolvers: true, description: "An entry of the conversation of a task." })
export class TaskLogEntryType implements Omit<TaskLogEntry, "sender"> {
  @Field(() => Int, { description: "Number of the entry in the conversation." }) id!: number;
  @Field({ description: "The text." }) content!: string;
  @Field(() => TaskLogType, { description: "Who wrote it." }) type!: TaskLogType;
  @Field(() => DateTime, { description: "When it was written." }) time!: string;
}

@Access({ readWith: "task:read" })
@ObjectType("TaskLogs", { simpleResolvers: true, description: "The conversation of a task." })
export class TaskLogsType implements TaskLogs {
  @Field(() => [TaskLogEntryType], { description: "The entries in their order." }) entries!: TaskLogEntry[];
  @Field({ description: "Whether the entries are those that the agent stored last, and not live." })
  snapshot!: boolean;
  @Field(() => DateTime, { nullable: true, description: "When they were stored; null for live entries." })
  snapshotAt!: string | null;
  @Field({ description: "Whether the agent left out earlier entries or cut long ones when it stored the others." })
  isCut!: boolean;
}

@Access({ readWith: "task:read", references: ["id"] })
@ObjectType("TaskInput", { simpleResolvers: true, description: "An input that a user sent to a task." })
export class TaskInputType implements Omit<TaskMessageRow, "taskId" | "seq" | "senderId" | "attempts"> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "The text." }) content!: string;
  @Field(() => TaskInputState, { description: "State." }) state!: TaskInputState;
  @Field({ description: "Why the last attempt did not succeed; empty if there was none." })
  lastError!: string;
  @Field(() => DateTime, { description: "When it was sent to Steward." }) createdAt!: string;
  @Field(() => DateTime, { nullable: true, description: "When the program received it; null before." })
  deliveredAt!: string | null;
}

type OtherFields =
  | "buildId"
  | "buildCreatedAt"
  | "buildUpdatedAt"
  | "buildFailure"
  | "isLost"
  | "agentSeenAt"
  | "agentEndedAt"
  | "agentHealthReason"
  | "appUrl"
  | "takesInputs"
  | "appUpdatedAt"
  | "reported"
  | "acl";

@Access({ readWith: "task:read", references: ["id", "name"] })
@ObjectType("Task", {
  simpleResolvers: true,
  description: "A prompt given to an AI agent that runs in a workspace of its own.",
})
export class TaskType implements Omit<TaskRow, OtherFields> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => DateTime, { description: "When the task was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the task or its workspace was last updated." }) updatedAt!: string;
  @Field({ description: "Name, unique among the tasks of the owner, in any letter case." }) name!: string;
  @Field({ description: "Name that people see." }) displayName!: string;
  @Field({ description: "The prompt with which the next start begins." }) initialPrompt!: string;
  @Field(() => TaskStatus, { description: "Status." }) status!: TaskStatus;
  @Field(() => UUID, { description: "ID of the owner." }) ownerId!: string;
  @Field({ description: "Username of the owner." }) ownerName!: string;
  @Field({ description: "Avatar of the owner: a URL or a path; empty if there is none." })
  ownerAvatarUrl!: string;
  @Field(() => UUID, { description: "ID of the organization." }) organizationId!: string;
  @Field(() => UUID, { description: "ID of the template." }) templateId!: string;
  @Field({ description: "Name of the template." }) templateName!: string;
  @Field({ description: "Display name of the template; may be empty." }) templateDisplayName!: string;
  @Field({ description: "Icon of the template: a URL or a path; empty if there is none." })
  templateIcon!: string;
  @Field(() => UUID, { description: "ID of the template version that the task was created with." })
  templateVersionId!: string;
  @Field(() => UUID, { nullable: true, description: "ID of the preset that the task was created with." })
  presetId!: string | null;
  @Field(() => UUID, { nullable: true, description: "ID of the workspace." }) workspaceId!: string;
  @Field({ description: "Name of the workspace." }) workspaceName!: string;
  @Field(() => WorkspaceStatus, { description: "Status of the workspace." }) workspaceStatus!: WorkspaceStatus;
  @Field(() => Int, { description: "Number of the latest build of the workspace." }) workspaceBuildNumber!: number;
  @Field(() => UUID, { nullable: true, description: "ID of the agent of the most recent start; null until known." })
  agentId!: string | null;
  @Field(() => AgentLifecycle, { nullable: true, description: "Lifecycle of the agent; null without one." })
  workspaceAgentLifecycle!: AgentLifecycle | null;
  @Field(() => UUID, {
    nullable: true,
    description: "ID of the app at which the program is reached; null until known.",
  })
  appId!: string | null;
}

export const TaskConnection = exactConnectionOf("Task", () => TaskType);

inputType("TaskFilter", TaskFilter, {
  description: "Selects tasks. Absent fields match all.",
});
