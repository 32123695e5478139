import { Arg, Args, Ctx, Field, FieldResolver, InputType, Int, Resolver, Root, Subscription } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import type { Page } from "../../domain/kernel/paging.js";
import {
  type ConversationChange,
  conversationLimits,
  type ConversationMessageRow,
  ConversationRole,
  type ConversationRow,
  conversationsByTask,
  ConversationState,
  listMessages,
  stateOf,
  TaskProtocol,
  watchConversation,
} from "../../domain/tasks/conversation.js";
import {
  beginConversation,
  ConversationPartKind,
  type ConversationReport,
  reportConversation,
  type ReportedMessage,
  type ReportedPart,
} from "../../domain/tasks/conversation-reports.js";
import {
  type DecideTaskPermission,
  decideTaskPermission,
  interruptTask,
  type TaskActionRow,
  watchTaskActions,
} from "../../domain/tasks/task-actions.js";
import { senderOfMessage } from "../../domain/tasks/senders.js";
import { type TaskReference, type TaskRow, tasksById } from "../../domain/tasks/tasks.js";
import { usersById } from "../../domain/users/users.js";
import { PublicUserType } from "../users/users.js";
import { Access, watchedBy } from "../engine/access.js";
import { enumType, Mutates } from "../engine/declarations.js";
import { PageArgs } from "../engine/lists.js";
import { DateTime, UUID } from "../engine/scalars.js";
import {
  ConversationMessageConnection,
  ConversationMessageType,
  ConversationPartType,
  partTypes,
  PermissionOptionKind,
  TaskActionType,
  TaskConversationChangeType,
  TaskConversationType,
  ToolCallStatus,
} from "./conversation-types.js";
import { TaskType } from "./task-types.js";

enumType({ ConversationPartKind }, "The kind of a part of a message that an agent reports.", {
  TEXT: "Text: `text`.",
  TOOL_CALL: "A call of a tool: `toolCallId`, `title`, `toolKind`, `status`, `input`.",
  TOOL_RESULT: "The result of a call: `toolCallId`, `text`, `isError`.",
  PERMISSION: "A request for a permission: `requestId`, `toolCallId`, `title`, `options`, `optionId`, `isCanceled`.",
  INTERRUPT: "The turn ended early: `text`.",
});

const taskReference = "The task: ID, or name among the tasks of the user.";
const userReference = "The owner, for a task given by name: ID, username, or `me`. Default: `me`.";

@InputType({ description: "Input of `decideTaskPermission`." })
export class DecideTaskPermissionInput implements DecideTaskPermission {
  @Field({ description: taskReference }) task!: string;
  @Field(() => String, { nullable: true, description: userReference }) user?: string | null;
  @Field({ description: "The request." }) requestId!: string;
  @Field({ description: "ID of the chosen option." }) optionId!: string;
}

@InputType({ description: "Input of `interruptTask`." })
export class InterruptTaskInput implements TaskReference {
  @Field({ description: taskReference }) task!: string;
  @Field(() => String, { nullable: true, description: userReference }) user?: string | null;
}

@InputType({ description: "Input of `beginTaskConversation`." })
export class BeginTaskConversationInput {
  @Field(() => UUID, { description: "ID of the task of the agent's workspace." }) taskId!: string;
  @Field(() => TaskProtocol, { description: "The protocol of its program." }) protocol!: TaskProtocol;
  @Field(() => Boolean, {
    nullable: true,
    description: "Whether the agent takes inputs from `taskActionRequested`; else they go to the app. Default: false.",
  })
  takesInputs?: boolean | null;
}

@InputType({ description: "An option of a request for a permission that an agent reports." })
export class PermissionOptionInput {
  @Field({ description: "Identifies the option in the request. 1 to 128 characters." }) id!: string;
  @Field({ description: "Its text, at most 200 characters." }) name!: string;
  @Field(() => PermissionOptionKind, { description: "Its kind." }) kind!: NonNullable<
    ReportedPart["options"]
  >[number]["kind"];
}

@InputType({ description: "A part of a message that an agent reports. Absent texts are empty." })
export class ConversationPartInput implements ReportedPart {
  @Field(() => ConversationPartKind, { description: "The kind, which says which other fields count." })
  kind!: ConversationPartKind;
  @Field(() => String, { nullable: true, description: "Text." }) text?: string | null;
  @Field(() => String, { nullable: true, description: "Identifies a call of a tool. At most 128 characters." })
  toolCallId?: string | null;
  @Field(() => String, { nullable: true, description: "Title for people. At most 512 characters." })
  title?: string | null;
  @Field(() => String, { nullable: true, description: "Kind of a tool. At most 32 characters." })
  toolKind?: string | null;
  @Field(() => ToolCallStatus, { nullable: true, description: "Status of a call. Default: `PENDING`." })
  status?: ReportedPart["status"];
  @Field(() => String, { nullable: true, description: "Input of a tool, as JSON." }) input?: string | null;
  @Field(() => Boolean, { nullable: true, description: "Whether a call failed. Default: false." })
  isError?: boolean | null;
  @Field(() => String, { nullable: true, description: "Identifies a request. At most 128 characters." })
  requestId?: string | null;
  @Field(() => [PermissionOptionInput], { nullable: true, description: "The options of a request, at most 20." })
  options?: PermissionOptionInput[] | null;
  @Field(() => String, { nullable: true, description: "The chosen option. Default: none." }) optionId?: string | null;
  @Field(() => Boolean, {
    nullable: true,
    description: "Whether a request was closed without a decision. Default: false.",
  })
  isCanceled?: boolean | null;
}

@InputType({ description: "A message that an agent reports. It replaces the one with its key." })
export class ConversationMessageInput implements ReportedMessage {
  @Field({ description: "Identifies the message in the conversation. 1 to 128 characters." }) key!: string;
  @Field(() => ConversationRole, { description: "Who wrote it." }) role!: ConversationRole;
  @Field(() => [ConversationPartInput], {
    description: `Its parts, at most ${conversationLimits.parts}, together at most ${conversationLimits.messageBytes} bytes of JSON.`,
  })
  parts!: ConversationPartInput[];
  @Field(() => Boolean, { nullable: true, description: "Whether a part was cut. Default: false." })
  isCut?: boolean | null;
  @Field(() => DateTime, { description: "When it was written, or began." }) writtenAt!: string;
}

@InputType({ description: "Input of `reportTaskConversation`." })
export class ReportTaskConversationInput implements ConversationReport {
  @Field(() => UUID, { description: "ID of the task of the agent's workspace." }) taskId!: string;
  @Field(() => ConversationState, { nullable: true, description: "The state of the program. Default: unchanged." })
  state?: ConversationState | null;
  @Field(() => String, { nullable: true, description: "More about the state. Cut to 512 characters." })
  stateMessage?: string | null;
  @Field(() => String, {
    nullable: true,
    description: "The session by which the program loads the conversation. At most 512 characters. Default: unchanged.",
  })
  sessionId?: string | null;
  @Field(() => String, {
    nullable: true,
    description: "The mode of the session. Cut to 128 characters. Default: unchanged.",
  })
  sessionMode?: string | null;
  @Field(() => Boolean, {
    nullable: true,
    description: "Whether the program asks no user for permissions in this mode. Default: unchanged.",
  })
  asksNobody?: boolean | null;
  @Field(() => [ConversationMessageInput], {
    nullable: true,
    description: "New and changed messages in their order, at most 100.",
  })
  messages?: ConversationMessageInput[] | null;
  @Field(() => [UUID], { nullable: true, description: "IDs of the actions that were carried out, at most 100." })
  finishedActionIds?: string[] | null;
}

const changedTask = { task: { type: () => TaskType, description: "The task.", covers: "everything" } } as const;
const changed = (ctx: Context, id: string) => ({ task: () => ctx.load(tasksById, id) });

@Resolver(() => ConversationMessageType)
export class ConversationMessageFieldsResolver {
  @Access({ countsAs: 5 })
  @FieldResolver(() => [ConversationPartType], { description: "Its parts in their order, at most 100." })
  parts(@Root() { parts }: ConversationMessageRow) {
    return parts.map((part) => ({ __typename: partTypes[part.kind], ...part }));
  }

  @FieldResolver(() => PublicUserType, {
    nullable: true,
    description:
      "The user who sent it; null for the prompt, for messages of the program, and for inputs to programs that speak AgentAPI which ended more than 7 days ago.",
  })
  async sender(@Root() message: ConversationMessageRow, @Ctx() ctx: Context) {
    const id = await senderOfMessage(ctx, message);
    return id === null ? null : ctx.load(usersById, id);
  }
}

@Resolver(() => TaskConversationType)
export class TaskConversationFieldsResolver {
  @FieldResolver(() => ConversationState, {
    nullable: true,
    description: "The state of the program; null if it is not known, and while the program does not run.",
  })
  state(@Root() conversation: ConversationRow, @Ctx() ctx: Context): Promise<ConversationState | null> {
    return stateOf(ctx, conversation);
  }

  @FieldResolver(() => Int, {
    description: `Number of the oldest messages that were left out: a conversation has at most ${conversationLimits.messages} messages and ${conversationLimits.bytes / 1024 ** 2} MiB.`,
  })
  omittedCount(@Root() { omitted }: ConversationRow): number {
    return omitted;
  }

  @FieldResolver(() => ConversationMessageConnection, { description: "The messages in their order." })
  messages(
    @Root() conversation: ConversationRow,
    @Args(() => PageArgs) page: PageArgs,
    @Ctx() ctx: Context,
  ): Promise<Page<ConversationMessageRow>> {
    return listMessages(ctx, conversation, page);
  }
}

@Resolver(() => TaskType)
export class TaskConversationResolver {
  @FieldResolver(() => TaskConversationType, {
    nullable: true,
    description: "The conversation in its structured form; null before the program is first started.",
  })
  conversation(@Root() { id }: TaskRow, @Ctx() ctx: Context): Promise<ConversationRow | undefined> {
    return ctx.load(conversationsByTask, id);
  }

  @Access({ needs: ["workspace:application_connect"] })
  @Mutates(
    "Decides a request of the program of an active task for a permission. CONFLICT if it is decided or closed already.",
    changedTask,
  )
  async decideTaskPermission(
    @Arg("input", { description: "The request and the chosen option." }) input: DecideTaskPermissionInput,
    @Ctx() ctx: Context,
  ) {
    return changed(ctx, await decideTaskPermission(ctx, input));
  }

  @Access({ needs: ["workspace:application_connect"] })
  @Mutates(
    "Interrupts the current turn of the program of an active task. A program that speaks AgentAPI gets the Escape key.",
    changedTask,
  )
  async interruptTask(@Arg("input", { description: "The task." }) input: InterruptTaskInput, @Ctx() ctx: Context) {
    return changed(ctx, await interruptTask(ctx, input));
  }

  @Access({ needs: ["task:read", "workspace:application_connect"] })
  @Subscription(() => TaskConversationChangeType, {
    subscribe: watchedBy(watchConversation),
    description:
      "Sends the state of the conversation of a task, and then each change of it, until the task is deleted.",
  })
  taskConversationChanged(
    @Arg("id", () => UUID, { description: "ID of the task." }) _id: string,
    @Arg("since", () => Int, {
      nullable: true,
      description:
        "The revision of the last change that was received: the messages that have changed since come first. Default: only later changes are sent.",
    })
    _since: number | undefined,
    @Root() change: ConversationChange,
  ): ConversationChange {
    return change;
  }

  @Access({ noUsers: true, openTo: ["agent"] })
  @Mutates(
    "Begins, or continues after a restart of the program, the conversation of the task of the agent's workspace. Requests for permissions that are still open are closed.",
    {
      sessionId: {
        type: () => String,
        nullable: true,
        description: "The session that was reported last; null before.",
      },
      omittedCount: { type: () => Int, description: "Number of the oldest messages that were left out." },
      messages: {
        type: () => [ConversationMessageType],
        description: "The messages in their order.",
        covers: "everything",
      },
    },
  )
  async beginTaskConversation(
    @Arg("input", { description: "The task and its protocol." }) input: BeginTaskConversationInput,
    @Ctx() ctx: Context,
  ) {
    const { omitted: omittedCount, ...begun } = await beginConversation(ctx, input);
    return { ...begun, omittedCount };
  }

  @Access({ noUsers: true, openTo: ["agent"] })
  @Mutates(
    "Stores messages of the conversation of the task of the agent's workspace, and the state of its program. One of an older build is ignored.",
    { taskId: { type: () => UUID, description: "ID of the task." } },
  )
  async reportTaskConversation(
    @Arg("input", { description: "The messages and the state." }) input: ReportTaskConversationInput,
    @Ctx() ctx: Context,
  ) {
    return { taskId: await reportConversation(ctx, input) };
  }

  @Access({ openTo: ["agent"] })
  @Subscription(() => TaskActionType, {
    subscribe: watchedBy(watchTaskActions),
    description:
      "Sends the agent of a task what it is to carry out: first the open actions, then each new one. Those that it has not reported as finished are sent again when it connects again.",
  })
  taskActionRequested(
    @Arg("taskId", () => UUID, { description: "ID of the task of the agent's workspace." }) _taskId: string,
    @Root() action: TaskActionRow,
  ): TaskActionRow {
    return action;
  }
}
