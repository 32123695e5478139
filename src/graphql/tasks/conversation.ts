import { setImmediate as nextTurn } from "node:timers/promises";
import { Arg, Args, Ctx, FieldResolver, Int, Resolver, Root, Subscription } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import type { Page, PageArguments } from "../../domain/kernel/paging.js";
import {
  type ConversationChange,
  conversationLimits,
  type ConversationMessageRow,
  type ConversationRow,
  conversationsByTask,
  ConversationState,
  listMessages,
  stateOf,
  watchConversation,
} from "../../domain/tasks/conversation.js";
import {
  beginConversation,
  BeginTaskConversation,
  ConversationPartKind,
  ConversationReport,
  reportConversation,
  ReportedMessage,
  ReportedOption,
  ReportedPart,
} from "../../domain/tasks/conversation-reports.js";
import {
  decideTaskPermission,
  DecideTaskPermission,
  interruptTask,
  type TaskActionRow,
  watchTaskActions,
} from "../../domain/tasks/task-actions.js";
import { TaskReference, type TaskRow, tasksById } from "../../domain/tasks/tasks.js";
import { senderOfMessage } from "../../domain/tasks/senders.js";
import { htmlOfMessage } from "../../domain/notifications/markdown.js";
import { usersById } from "../../domain/users/users.js";
import { PublicUserType } from "../users/users.js";
import { Access, watchedBy } from "../engine/access.js";
import { enumType, Mutates } from "../engine/declarations.js";
import { PageArgs } from "../engine/lists.js";
import { UUID } from "../engine/scalars.js";
import { inputType } from "../engine/inputs.js";
import {
  ConversationMessageConnection,
  ConversationMessageType,
  ConversationPartType,
  partTypes,
  TaskActionType,
  TaskConversationChangeType,
  TaskConversationType,
  TextPart,
} from "./conversation-types.js";
import { TaskType } from "./task-types.js";

enumType({ ConversationPartKind }, "The kind of a part of a message that an agent reports.", {
  TEXT: "Text: `text`.",
  TOOL_CALL: "A call of a tool: `toolCallId`, `title`, `toolKind`, `status`, `input`.",
  TOOL_RESULT: "The result of a call: `toolCallId`, `text`, `isError`.",
  PERMISSION: "A request for a permission: `requestId`, `toolCallId`, `title`, `options`, `optionId`, `isCanceled`.",
  INTERRUPT: "The turn ended early: `text`.",
});

export const DecideTaskPermissionInput = inputType("DecideTaskPermissionInput", DecideTaskPermission);

export const InterruptTaskInput = inputType("InterruptTaskInput", TaskReference);

export const BeginTaskConversationInput = inputType("BeginTaskConversationInput", BeginTaskConversation);

export const PermissionOptionInput = inputType("PermissionOptionInput", ReportedOption, {
  description: "An option of a request for a permission that an agent reports.",
});

export const ConversationPartInput = inputType("ConversationPartInput", ReportedPart, {
  description: "A part of a message that an agent reports. Absent texts are empty.",
});

export const ConversationMessageInput = inputType("ConversationMessageInput", ReportedMessage, {
  description: "A message that an agent reports. It replaces the one with its key.",
});

export const ReportTaskConversationInput = inputType("ReportTaskConversationInput", ConversationReport);

const changedTask = { task: { type: () => TaskType, description: "The task.", covers: "everything" } } as const;
const readChangedTask = (ctx: Context, id: string) => ({ task: () => ctx.load(tasksById, id) });

@Resolver(() => TextPart)
export class TextPartFieldsResolver {
  @FieldResolver(() => String, {
    description:
      "The text as HTML: paragraphs, headings, lists, quotes, code, emphasis, and links to `http:`, `https:`, and `mailto:` URLs, without attributes but those of links and languages. Markup in the text stays text.",
  })
  async html(@Root() { text }: TextPart): Promise<string> {
    // A conversation may have megabytes: other requests get their turns between its messages.
    await nextTurn();
    return htmlOfMessage(text);
  }
}

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
    @Args(() => PageArgs) page: PageArguments,
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
    @Arg("input", () => DecideTaskPermissionInput, { description: "The request and the chosen option." })
    input: DecideTaskPermission,
    @Ctx() ctx: Context,
  ) {
    return readChangedTask(ctx, await decideTaskPermission(ctx, input));
  }

  @Access({ needs: ["workspace:application_connect"] })
  @Mutates(
    "Interrupts the current turn of the program of an active task. A program that speaks AgentAPI gets the Escape key.",
    changedTask,
  )
  async interruptTask(
    @Arg("input", () => InterruptTaskInput, { description: "The task." }) input: TaskReference,
    @Ctx() ctx: Context,
  ) {
    return readChangedTask(ctx, await interruptTask(ctx, input));
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

  @Access({ ignoresUsers: true, openTo: ["agent"] })
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
    @Arg("input", () => BeginTaskConversationInput, { description: "The task and its protocol." })
    input: BeginTaskConversation,
    @Ctx() ctx: Context,
  ) {
    const { omitted: omittedCount, ...begun } = await beginConversation(ctx, input);
    return { ...begun, omittedCount };
  }

  @Access({ ignoresUsers: true, openTo: ["agent"] })
  @Mutates(
    "Stores messages of the conversation of the task of the agent's workspace, and the state of its program. One of an older build is ignored.",
    { taskId: { type: () => UUID, description: "ID of the task." } },
  )
  async reportTaskConversation(
    @Arg("input", () => ReportTaskConversationInput, { description: "The messages and the state." })
    input: ConversationReport,
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
