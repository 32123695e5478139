import { Arg, Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { mostCounted } from "../../domain/kernel/lists.js";
import type { Page, PageArguments } from "../../domain/kernel/paging.js";
import {
  type AttemptRow,
  attemptsByMessage,
  discardNotificationMessages,
  listNotificationMessages,
  type MessageRow,
  MessageState,
  readNotificationMessage,
  retryNotificationMessages,
  MessageFilter,
  RepairMessages,
  UndeliveredFilter,
} from "../../domain/notifications/messages.js";
import { DeliveryMethod, readNotificationTemplate, type TemplateRow } from "../../domain/notifications/methods.js";
import { sendTestNotification } from "../../domain/notifications/custom-notifications.js";
import { usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { connectionOf, PageArgs } from "../engine/lists.js";
import { DateTime, UUID } from "../engine/scalars.js";
import { PublicUserType } from "../users/users.js";
import { NotificationTemplateType } from "./notification-templates.js";
import { inputType } from "../engine/inputs.js";

enumType({ NotificationMessageState: MessageState }, "State of a notification message.", {
  PENDING: "Waits for its first attempt, or for another after a repair.",
  LEASED: "A server is delivering it.",
  TEMPORARY_FAILURE: "An attempt failed; another follows.",
  SENT: "The receiver accepted it.",
  PERMANENT_FAILURE: "It could not be delivered. Owners can retry or discard it.",
  INHIBITED: "The user does not want it, is suspended, or was deleted.",
  DISCARDED: "An owner gave it up.",
});

/** How an attempt ended. */
const AttemptOutcome = {
  DONE: "done",
  RETRYABLE: "retryable",
  FATAL: "fatal",
  SKIPPED: "skipped",
  LOST: "lost",
} as const;

enumType({ NotificationAttemptOutcome: AttemptOutcome }, "How an attempt to deliver a message ended.", {
  DONE: "The receiver accepted the message.",
  RETRYABLE: "It failed for a reason that may pass.",
  FATAL: "It failed for a reason that does not pass.",
  SKIPPED: "The message was not to be delivered any more.",
  LOST: "The server ended before the attempt did.",
});

@ObjectType("NotificationAttempt", { simpleResolvers: true, description: "An attempt to deliver a message." })
class NotificationAttemptType implements Omit<AttemptRow, "messageId"> {
  @Field(() => Int, { description: "Number of the attempt, from 1." }) number!: number;
  @Field(() => DateTime, { description: "When it ended." }) time!: string;
  @Field(() => Int, { description: "Duration in milliseconds." }) duration!: number;
  @Field(() => AttemptOutcome, { description: "How it ended." }) outcome!: AttemptRow["outcome"];
  @Field(() => String, { nullable: true, description: "Why it failed; null if it succeeded." }) detail!: string | null;
  @Field(() => UUID, { description: "ID of the server process, which is new with each start." }) replica!: string;
}

@Access({ readWith: "notification_message:read", references: ["id"] })
@ObjectType("NotificationMessage", {
  simpleResolvers: true,
  description: "A notification to one user by one method, in the delivery log. Its texts are not part of the log.",
})
class NotificationMessageType implements MessageRow {
  @Field(() => UUID, { description: "Unique ID, which receivers get with each attempt." }) id!: string;
  @Field(() => UUID, { description: "ID that the messages about one event have in common." }) eventId!: string;
  @Field(() => UUID, { description: "ID of the template." }) templateId!: string;
  @Field(() => UUID, { description: "ID of the user." }) userId!: string;
  @Field(() => DeliveryMethod, { description: "The method." }) method!: DeliveryMethod;
  @Field(() => MessageState, { description: "State." }) state!: MessageState;
  @Field(() => String, { nullable: true, description: "Why it is in this state; null if that needs no reason." })
  reason!: string | null;
  @Field(() => DateTime, { description: "Earliest time of the next attempt, if there is one." }) nextAttemptAt!: string;
  @Field(() => DateTime, { description: "Time after which it is not delivered any more." }) expiresAt!: string;
  @Field(() => DateTime, { description: "Time of the event." }) createdAt!: string;
  @Field(() => DateTime, { nullable: true, description: "When it reached its final state; null before." })
  finishedAt!: string | null;
}

const NotificationMessageConnection = connectionOf("NotificationMessage", () => NotificationMessageType, {
  most: mostCounted,
});

const NotificationMessageFilterInput = inputType("NotificationMessageFilter", MessageFilter, {
  description: "Selects messages. Absent fields match all.",
});

inputType("UndeliveredNotificationFilter", UndeliveredFilter, {
  description: "Selects undelivered messages. Absent fields match all.",
});

export const RetryNotificationMessagesInput = inputType("RetryNotificationMessagesInput", RepairMessages, {
  description: "Input of `retryNotificationMessages`: IDs or a filter.",
});

export const DiscardNotificationMessagesInput = inputType("DiscardNotificationMessagesInput", RepairMessages, {
  description: "Input of `discardNotificationMessages`: IDs or a filter.",
});

@Resolver(() => NotificationMessageType)
export class NotificationMessagesResolver {
  @FieldResolver(() => NotificationTemplateType, { nullable: true, description: "The template; null if it is gone." })
  template(@Root() { templateId }: MessageRow, @Ctx() ctx: Context): Promise<TemplateRow> {
    return readNotificationTemplate(ctx, templateId);
  }

  @FieldResolver(() => PublicUserType, { description: "The user." })
  user(@Root() { userId }: MessageRow, @Ctx() ctx: Context) {
    return ctx.load(usersById, userId);
  }

  @Access({ countsAs: 10 })
  @FieldResolver(() => [NotificationAttemptType], { description: "The attempts to deliver it, oldest first." })
  attempts(@Root() { id }: MessageRow, @Ctx() ctx: Context): Promise<AttemptRow[]> {
    return ctx.load(attemptsByMessage, id);
  }

  @Access({ needs: ["notification_message:read"] })
  @Query(() => NotificationMessageType, { nullable: true, description: "Returns a message of the delivery log." })
  notificationMessage(
    @Arg("id", () => UUID, { description: "ID of the message." }) id: string,
    @Ctx() ctx: Context,
  ): Promise<MessageRow> {
    return readNotificationMessage(ctx, id);
  }

  @Access({ needs: ["notification_message:read"] })
  @Query(() => NotificationMessageConnection, {
    description: "Lists the messages of the delivery log, newest first. For owners and auditors.",
  })
  notificationMessages(
    @Arg("filter", () => NotificationMessageFilterInput, { nullable: true, description: "Selects messages." })
    filter: MessageFilter | undefined,
    @Args(() => PageArgs) page: PageArguments,
    @Ctx() ctx: Context,
  ): Promise<Page<MessageRow>> {
    return listNotificationMessages(ctx, filter ?? {}, page);
  }

  @Access({ needs: ["notification_message:create"] })
  @Mutates("Sends a test notification to the caller, an owner. At most 60 per minute.", {
    messageIds: { type: () => [UUID], description: "IDs of the messages: one for each method.", countsAs: 2 },
  })
  async sendTestNotification(@Ctx() ctx: Context) {
    return { messageIds: await sendTestNotification(ctx) };
  }

  @Access({ needs: ["notification_message:update"] })
  @Mutates("Sends messages again that could not be delivered, except for one-time passcodes.", {
    retried: { type: () => Int, description: "Number of messages that are sent again." },
  })
  async retryNotificationMessages(
    @Arg("input", () => RetryNotificationMessagesInput, { description: "The messages." })
    input: RepairMessages,
    @Ctx() ctx: Context,
  ) {
    return { retried: await retryNotificationMessages(ctx, input) };
  }

  @Access({ needs: ["notification_message:update"] })
  @Mutates("Gives up messages that could not be delivered.", {
    discarded: { type: () => Int, description: "Number of messages that were given up." },
  })
  async discardNotificationMessages(
    @Arg("input", () => DiscardNotificationMessagesInput, { description: "The messages." })
    input: RepairMessages,
    @Ctx() ctx: Context,
  ) {
    return { discarded: await discardNotificationMessages(ctx, input) };
  }
}
