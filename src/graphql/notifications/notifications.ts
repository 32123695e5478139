import {
  Arg,
  Args,
  Ctx,
  createUnionType,
  Field,
  FieldResolver,
  Int,
  ObjectType,
  Query,
  Resolver,
  Root,
  Subscription,
} from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { mostCounted } from "../../domain/kernel/lists.js";
import {
  sendCustomNotification,
  CustomContent,
  SendCustomNotification,
} from "../../domain/notifications/custom-notifications.js";
import {
  countUnread,
  type InboxAction,
  type InboxNotification,
  listInboxNotifications,
  markAllInboxNotificationsRead,
  markInboxNotification,
  plainTextsOf,
  readInboxNotification,
  ReadStatus,
  InboxFilter,
  MarkInboxNotification,
} from "../../domain/notifications/inbox.js";
import type { Page, PageArguments } from "../../domain/kernel/paging.js";
import { type InboxEvent, TextFormat, watchInbox } from "../../domain/notifications/watch-inbox.js";
import { Access, watchedBy } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { connectionOf, PageArgs } from "../engine/lists.js";
import { DateTime, UUID } from "../engine/scalars.js";
import { inputType } from "../engine/inputs.js";

enumType({ InboxReadStatus: ReadStatus }, "Read status of notifications.", {
  ALL: "Read and unread notifications.",
  READ: "Read notifications only.",
  UNREAD: "Unread notifications only.",
});

enumType({ TextFormat }, "Format of titles and contents.", {
  MARKDOWN: "Markdown, as stored.",
  PLAINTEXT: "Plain text without Markdown marks; links as `text (url)`.",
});

@ObjectType("InboxAction", { simpleResolvers: true, description: "A link of a notification." })
export class InboxActionType implements InboxAction {
  @Field({ description: "Text of the link." }) label!: string;
  @Field({ description: "Target of the link." }) url!: string;
}

@Access({ readWith: "inbox_notification:read", references: ["id"] })
@ObjectType("InboxNotification", { simpleResolvers: true, description: "A notification in the inbox of its user." })
export class InboxNotificationType implements Omit<InboxNotification, "seq" | "plain"> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => UUID, { description: "ID of the user whose inbox it is in." }) userId!: string;
  @Field(() => UUID, { description: "ID of its template." }) templateId!: string;
  @Field(() => [UUID], { description: "IDs of the objects that it is about." }) targets!: string[];
  @Field({ description: "Markdown, one line." }) title!: string;
  @Field({ description: "Markdown." }) content!: string;
  @Field({ description: "A URL, or the name of a built-in icon." }) icon!: string;
  @Access({ countsAs: 3 })
  @Field(() => [InboxActionType], { description: "Links to the objects that it is about." })
  actions!: InboxActionType[];
  @Field(() => DateTime, { description: "Time of arrival." }) createdAt!: string;
  @Field(() => DateTime, {
    nullable: true,
    description: "Time at which it was marked as read, alone or with all others; null while it is unread.",
  })
  readAt!: string | null;
}

@ObjectType("InboxNotificationAdded", { simpleResolvers: true, description: "A notification arrived." })
class InboxNotificationAdded {
  @Field({ description: "The notification." }) notification!: InboxNotificationType;
  @Field(() => Int, { description: "Number of unread notifications in the inbox, regardless of the filter." })
  unreadCount!: number;
  @Field({ description: "Cursor of the notification: pass it as `since` to resume after it." })
  cursor!: string;
}

@ObjectType("InboxUnreadCountChanged", {
  simpleResolvers: true,
  description: "The unread count: sent at the start of a watch, and when it changes without an arrival.",
})
class InboxUnreadCountChanged {
  @Field(() => Int, { description: "Number of unread notifications in the inbox, regardless of the filter." })
  unreadCount!: number;
}

@ObjectType("InboxWatchRestarted", {
  simpleResolvers: true,
  description:
    "The first event if `since` is a number that no notification of the inbox has, for example after the database was restored. The unread notifications up to that number are sent, too.",
})
class InboxWatchRestarted {
  @Field(() => Int, { description: "Number of unread notifications in the inbox, regardless of the filter." })
  unreadCount!: number;
}

const InboxEventType = createUnionType({
  name: "InboxEvent",
  description: "An event of a watched inbox.",
  types: () => [InboxNotificationAdded, InboxUnreadCountChanged, InboxWatchRestarted] as const,
});

export const InboxFilterInput = inputType("InboxFilter", InboxFilter, {
  description: "Selects notifications of an inbox. Absent fields match all.",
});

inputType("CustomNotificationContentInput", CustomContent, {
  description: "Texts of a custom notification. A title or a message is required.",
});

export const SendCustomNotificationInput = inputType("SendCustomNotificationInput", SendCustomNotification);

export const MarkInboxNotificationInput = inputType("MarkInboxNotificationInput", MarkInboxNotification);

@ObjectType({ description: "A page of an inbox, newest first." })
export class InboxNotificationConnection extends connectionOf("InboxNotification", () => InboxNotificationType, {
  most: mostCounted,
}) {
  @Field(() => Int, { description: "Exact number of unread notifications in the inbox, regardless of the filter." })
  unreadCount(@Ctx() ctx: Context) {
    return countUnread(ctx);
  }
}

@Resolver(() => InboxNotificationType)
export class NotificationsResolver {
  @FieldResolver(() => String, { description: "The title as plain text, one line." })
  plainTitle(@Root() notification: InboxNotification) {
    return plainTextsOf(notification).title;
  }

  @FieldResolver(() => String, {
    description: "The content as plain text without Markdown marks; links as `text (url)`.",
  })
  plainContent(@Root() notification: InboxNotification) {
    return plainTextsOf(notification).content;
  }

  @Access({ needs: ["inbox_notification:read"] })
  @Query(() => InboxNotificationType, { nullable: true, description: "Returns a notification of the caller's inbox." })
  inboxNotification(
    @Arg("id", () => UUID, { description: "ID of the notification." }) id: string,
    @Ctx() ctx: Context,
  ): Promise<InboxNotification> {
    return readInboxNotification(ctx, id);
  }

  @Access({ needs: ["inbox_notification:read"] })
  @Query(() => InboxNotificationConnection, {
    description: "Lists the notifications of the caller's inbox, newest first.",
  })
  inboxNotifications(
    @Arg("filter", () => InboxFilterInput, { nullable: true, description: "Selects notifications." })
    filter: InboxFilter | undefined,
    @Args(() => PageArgs) page: PageArguments,
    @Ctx() ctx: Context,
  ): Promise<Page<InboxNotification>> {
    return listInboxNotifications(ctx, filter ?? {}, page);
  }

  @Access({ needs: ["notification_message:create"] })
  @Mutates("Sends a notification with the caller's own text to the caller. At most 20 per minute.", {
    notification: {
      type: () => InboxNotificationType,
      nullable: true,
      description: "The new notification; null if an earlier request with the idempotency key created it.",
      covers: "everything",
    },
  })
  async sendCustomNotification(
    @Arg("input", () => SendCustomNotificationInput, { description: "The texts, and an idempotency key." })
    input: SendCustomNotification,
    @Ctx() ctx: Context,
  ) {
    const id = await sendCustomNotification(ctx, input.content, input.idempotencyKey);
    return { notification: () => id && readInboxNotification(ctx, id) };
  }

  @Access({ needs: ["inbox_notification:update"] })
  @Mutates("Marks a notification as read or unread. Repeating a mark keeps its time.", {
    notification: { type: () => InboxNotificationType, description: "The notification." },
    unreadCount: {
      type: () => Int,
      description: "Number of unread notifications in the inbox.",
      needs: ["inbox_notification:read"],
    },
  })
  async markInboxNotification(
    @Arg("input", () => MarkInboxNotificationInput, { description: "The notification and the mark." })
    input: MarkInboxNotification,
    @Ctx() ctx: Context,
  ) {
    const id = await markInboxNotification(ctx, input);
    return { notification: () => readInboxNotification(ctx, id), unreadCount: () => countUnread(ctx) };
  }

  @Access({ needs: ["inbox_notification:update"] })
  @Mutates("Marks all notifications in the caller's inbox as read.", {
    unreadCount: {
      type: () => Int,
      description: "Number of unread notifications in the inbox after the change.",
      needs: ["inbox_notification:read"],
    },
  })
  async markAllInboxNotificationsRead(@Ctx() ctx: Context) {
    await markAllInboxNotificationsRead(ctx);
    return { unreadCount: () => countUnread(ctx) };
  }

  @Access({ needs: ["inbox_notification:read"], sharesEvents: true })
  @Subscription(() => InboxEventType, {
    description:
      "Streams new notifications and changes of the unread count of the caller's inbox. At most 20 watches per user and server.",
    subscribe: watchedBy(watchInbox),
  })
  inboxEvents(
    @Root() event: InboxEvent,
    @Arg("filter", () => InboxFilterInput, { nullable: true, description: "Selects the notifications to send." })
    _filter?: InboxFilter,
    @Arg("format", () => TextFormat, {
      nullable: true,
      description: "Format of titles and contents. Default: MARKDOWN.",
    })
    _format?: TextFormat,
    @Arg("since", {
      nullable: true,
      description: "Cursor or ID of a notification: everything after it is sent first.",
    })
    _since?: string,
  ): InboxEvent {
    return event;
  }
}
