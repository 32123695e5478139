import { createUnionType, Field, Int, ObjectType } from "type-graphql";
import {
  type ConversationChange,
  type ConversationMessageRow,
  type ConversationPart,
  ConversationRole,
  type ConversationRow,
  ConversationState,
  TaskProtocol,
  PermissionOptionKind,
  ToolCallStatus,
} from "../../domain/tasks/conversation.js";
import { TaskActionKind, type TaskActionRow } from "../../domain/tasks/task-actions.js";
import { Access } from "../engine/access.js";
import { enumType } from "../engine/declarations.js";
import { connectionOf } from "../engine/lists.js";
import { DateTime, UUID } from "../engine/scalars.js";

enumType({ TaskProtocol }, "The protocol by which the program of a task is spoken to.", {
  AGENTAPI: "AgentAPI over HTTP.",
  ACP: "The Agent Client Protocol over standard input and output.",
});

enumType({ ConversationState }, "The state of the program of a task, as its protocol says.", {
  WORKING: "It works on an input.",
  IDLE: "It waits for an input.",
  REQUIRES_ACTION: "It asks for a permission and waits for the decision of a user.",
  ERROR: "It has ended or failed.",
});

enumType({ ConversationRole }, "Who wrote a message.", { USER: "A user.", AGENT: "The program." });

enumType({ ToolCallStatus }, "The status of the call of a tool.", {
  PENDING: "It has not begun, or waits for a permission.",
  IN_PROGRESS: "It runs.",
  COMPLETED: "It has succeeded.",
  FAILED: "It has failed, or was not permitted.",
});

enumType({ PermissionOptionKind }, "The kind of an option of a request for a permission.", {
  ALLOW_ONCE: "Allows it this time.",
  ALLOW_ALWAYS: "Allows it, and the like from now on.",
  REJECT_ONCE: "Rejects it this time.",
  REJECT_ALWAYS: "Rejects it, and the like from now on.",
});

enumType({ TaskActionKind }, "The kind of an action for the agent of a task.", {
  DECISION: "Decides a request of the program for a permission.",
  INTERRUPT: "Interrupts the current turn of the program.",
  INPUT: "Gives the program an input, once it waits for one.",
});

type PartOf<Kind extends ConversationPart["kind"]> = Omit<Extract<ConversationPart, { kind: Kind }>, "kind">;

@Access({ readWith: "task:read" })
@ObjectType("TextPart", { simpleResolvers: true, description: "Text of a message, in Markdown." })
export class TextPart implements PartOf<"text"> {
  @Field({ description: "The text." }) text!: string;
}

@Access({ readWith: "task:read" })
@ObjectType("ToolCallPart", { simpleResolvers: true, description: "The program calls a tool." })
class ToolCallPart implements PartOf<"tool_call"> {
  @Field({ description: "Identifies the call in the conversation." }) toolCallId!: string;
  @Field({ description: "Title of the call, for people." }) title!: string;
  @Field({ description: "The kind of the tool, such as `read`, `edit` or `execute`; may be empty." }) toolKind!: string;
  @Field(() => ToolCallStatus, { description: "The status of the call." }) status!: PartOf<"tool_call">["status"];
  @Field({ description: "The input of the tool as JSON, possibly cut; empty if the program does not tell it." })
  input!: string;
}

@Access({ readWith: "task:read" })
@ObjectType("ToolResultPart", { simpleResolvers: true, description: "The result of the call of a tool." })
class ToolResultPart implements PartOf<"tool_result"> {
  @Field({ description: "The call." }) toolCallId!: string;
  @Field({ description: "The result as text, possibly cut." }) text!: string;
  @Field({ description: "Whether the call failed." }) isError!: boolean;
}

@Access({ readWith: "task:read" })
@ObjectType("PermissionOption", { simpleResolvers: true, description: "An option of a request for a permission." })
class PermissionOptionType {
  @Field({ description: "Identifies the option in the request." }) id!: string;
  @Field({ description: "Its text, for people." }) name!: string;
  @Field(() => PermissionOptionKind, { description: "Its kind." }) kind!: PermissionOptionKind;
}
type PermissionOptionKind = (typeof PermissionOptionKind)[keyof typeof PermissionOptionKind];

@Access({ readWith: "task:read" })
@ObjectType("PermissionPart", {
  simpleResolvers: true,
  description: "The program asks for a permission, and waits for `decideTaskPermission`.",
})
class PermissionPart implements PartOf<"permission"> {
  @Field({ description: "Identifies the request." }) requestId!: string;
  @Field({ description: "The call of a tool for which the permission is needed; may be empty." }) toolCallId!: string;
  @Field({ description: "Title of the action to be permitted, for people." }) title!: string;
  @Access({ countsAs: 4 })
  @Field(() => [PermissionOptionType], { description: "The options to choose from, at most 20." })
  options!: PermissionOptionType[];
  @Field(() => String, { nullable: true, description: "The chosen option; null if none was chosen." })
  optionId!: string | null;
  @Field({
    description: "Whether the request was closed without a decision, by an interrupt or the end of the program.",
  })
  isCanceled!: boolean;
}

@Access({ readWith: "task:read" })
@ObjectType("InterruptPart", { simpleResolvers: true, description: "The turn of the program ended early." })
class InterruptPart implements PartOf<"interrupt"> {
  @Field({ description: "Why, in a sentence." }) text!: string;
}

/** The types of parts by their kinds. */
export const partTypes = {
  text: "TextPart",
  tool_call: "ToolCallPart",
  tool_result: "ToolResultPart",
  permission: "PermissionPart",
  interrupt: "InterruptPart",
};

export const ConversationPartType = createUnionType({
  name: "ConversationPart",
  description: "A part of a message of a conversation.",
  types: () => [TextPart, ToolCallPart, ToolResultPart, PermissionPart, InterruptPart] as const,
});

@Access({ readWith: "task:read", references: ["id"] })
@ObjectType("ConversationMessage", { simpleResolvers: true, description: "A message of the conversation of a task." })
export class ConversationMessageType implements Omit<
  ConversationMessageRow,
  "senderId" | "taskId" | "seq" | "revision" | "parts"
> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => ConversationRole, { description: "Who wrote it." }) role!: ConversationRole;
  @Field({ description: "Whether a part was cut because it is too long." }) isCut!: boolean;
  @Field(() => DateTime, { description: "When it was written, or began." }) writtenAt!: string;
  @Field(() => Int, { description: "Number of the build of the workspace in which it was written." })
  buildNumber!: number;
}

export const ConversationMessageConnection = connectionOf("ConversationMessage", () => ConversationMessageType);

@Access({ readWith: "task:read" })
@ObjectType("TaskConversation", {
  simpleResolvers: true,
  description: "The conversation of users and the program of a task, over all starts of its workspace.",
})
export class TaskConversationType implements Pick<
  ConversationRow,
  "protocol" | "stateMessage" | "revision" | "sessionMode" | "asksNobody"
> {
  @Field({ description: "The mode of the session, such as `plan`; empty if the program does not tell one." })
  sessionMode!: string;
  @Field({
    description:
      "Whether the mode of the session is one in which the program asks no user for permissions. Modes are known by their IDs.",
  })
  asksNobody!: boolean;
  @Field(() => TaskProtocol, { description: "The protocol of the program." }) protocol!: TaskProtocol;
  @Field({ description: "More about the state, such as the requested permission or the error; may be empty." })
  stateMessage!: string;
  @Field(() => Int, { description: "Number of the last change, for `taskConversationChanged`." }) revision!: number;
}

@Access({ readWith: "task:read" })
@ObjectType("TaskConversationChange", { simpleResolvers: true, description: "A change of the conversation of a task." })
export class TaskConversationChangeType implements ConversationChange {
  @Field(() => TaskConversationType, { description: "The conversation after the change." })
  conversation!: ConversationRow;
  @Access({ countsAs: 50 })
  @Field(() => [ConversationMessageType], {
    description: "The messages that are new or different, at most 50; each replaces the one of its ID.",
  })
  messages!: ConversationMessageRow[];
}

@ObjectType("TaskAction", {
  simpleResolvers: true,
  description: "An action that a user wants from the program of a task.",
})
export class TaskActionType implements Omit<TaskActionRow, "taskId"> {
  @Field(() => UUID, { description: "ID with which the agent reports that it is carried out." }) id!: string;
  @Field(() => TaskActionKind, { description: "Its kind." }) kind!: TaskActionKind;
  @Field({ description: "The request of a decision, or the ID of an input; else empty." }) requestId!: string;
  @Field({ description: "The chosen option of a decision; else empty." }) optionId!: string;
  @Field({ description: "The text of an input; else empty." }) text!: string;
}
