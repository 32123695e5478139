import {
  Arg,
  Args,
  Ctx,
  createUnionType,
  Field,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Query,
  registerEnumType,
  Resolver,
  Root,
  Subscription,
} from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import { sendCustomNotification } from "../domain/notifications/custom.js";
import {
  countUnread,
  type InboxAction,
  type InboxNotification,
  listInboxNotifications,
  readInboxNotification,
  ReadStatus,
} from "../domain/notifications/inbox.js";
import { markAllInboxNotificationsRead, markInboxNotification } from "../domain/notifications/marks.js";
import type { Page } from "../domain/kernel/page.js";
import { type InboxEvent, TextFormat, type WatchInbox, watchInbox } from "../domain/notifications/watch.js";
import { CountsAs, Covers, Needs, ReadWith } from "./engine/access.js";
import { connectionOf, PageArgs } from "./engine/connections.js";
import { DateTime, UUID } from "./engine/scalars.js";

registerEnumType(ReadStatus, {
  name: "InboxReadStatus",
  description: "Whether a notification was read.",
  valuesConfig: {
    ALL: { description: "Read or not." },
    READ: { description: "Marked as read." },
    UNREAD: { description: "Not marked as read." },
  },
});

registerEnumType(TextFormat, {
  name: "TextFormat",
  description: "How titles and contents are written.",
  valuesConfig: {
    MARKDOWN: { description: "As they are: markdown." },
    PLAINTEXT: { description: "Without marks; links as `text (url)`." },
  },
});

@ObjectType("InboxAction", { simpleResolvers: true, description: "A link that a notification offers." })
export class InboxActionType implements InboxAction {
  @Field(() => String, { description: "What to call it." }) label!: string;
  @Field(() => String, { description: "Where it leads." }) url!: string;
}

@ReadWith("inbox_notification:read", "id")
@ObjectType("InboxNotification", { simpleResolvers: true, description: "A notification in the inbox of its user." })
export class InboxNotificationType implements Omit<InboxNotification, "seq"> {
  @Field(() => UUID, { description: "Unique id." }) id!: string;
  @Field(() => UUID, { description: "Whose inbox it is in." }) userId!: string;
  @Field(() => UUID, { description: "The template it was made from." }) templateId!: string;
  @Field(() => [UUID], { description: "Ids of what it is about." }) targets!: string[];
  @Field(() => String, { description: "Markdown, one line." }) title!: string;
  @Field(() => String, { description: "Markdown." }) content!: string;
  @Field(() => String, { description: "A URL, or the name of a built-in icon." }) icon!: string;
  @CountsAs(3)
  @Field(() => [InboxActionType], { description: "Links to what it is about." })
  actions!: InboxActionType[];
  @Field(() => DateTime, { description: "When it arrived." }) createdAt!: string;
  @Field(() => DateTime, { nullable: true, description: "When it was read; none while it is unread." }) readAt!:
    | string
    | null;
}

@ObjectType("InboxNotificationAdded", { simpleResolvers: true, description: "A notification arrived." })
class InboxNotificationAdded {
  @Field(() => InboxNotificationType, { description: "The notification." }) notification!: InboxNotificationType;
  @Field(() => Int, { description: "How many are unread now, whatever the filter." }) unreadCount!: number;
  @Field(() => String, { description: "Its place in the inbox: `since` resumes after it." }) cursor!: string;
}

@ObjectType("InboxUnreadCountChanged", {
  simpleResolvers: true,
  description: "How many are unread, told at the start and when it changes without an arrival.",
})
class InboxUnreadCountChanged {
  @Field(() => Int, { description: "How many are unread now, whatever the filter." }) unreadCount!: number;
}

@ObjectType("InboxWatchRestarted", {
  simpleResolvers: true,
  description:
    "The first event if `since` is a number that no notification of the inbox has, for example after the database was restored. The unread notifications up to that number are sent, too.",
})
class InboxWatchRestarted {
  @Field(() => Int, { description: "How many are unread now, whatever the filter." }) unreadCount!: number;
}

const InboxEventType = createUnionType({
  name: "InboxEvent",
  description: "What happens in an inbox.",
  types: () => [InboxNotificationAdded, InboxUnreadCountChanged, InboxWatchRestarted] as const,
});

@InputType("InboxFilter", { description: "Which notifications of an inbox are meant. What is absent does not narrow." })
export class InboxFilterInput {
  @Field(() => [UUID], { nullable: true, description: "It is about all of these. At most 100." }) targets?: string[];
  @Field(() => [UUID], { nullable: true, description: "It was made from one of these templates. At most 100." })
  templates?: string[];
  @Field(() => ReadStatus, { nullable: true, description: "Whether it was read. Default: ALL." })
  readStatus?: ReadStatus;
}

@InputType({ description: "What a user wants to be told. A title or a message is required." })
export class CustomNotificationContentInput {
  @Field(() => String, { nullable: true, description: "Markdown, at most 120 characters." }) title?: string;
  @Field(() => String, { nullable: true, description: "Markdown, at most 2000 characters." }) message?: string;
}

@InputType({ description: "A notification of the caller to itself." })
export class SendCustomNotificationInput {
  @Field(() => CustomNotificationContentInput, { nullable: true, description: "Required. What to tell." })
  content?: CustomNotificationContentInput;
  @Field(() => String, {
    nullable: true,
    description: "Requests with the same key within 24 hours are carried out once. At most 255 characters.",
  })
  idempotencyKey?: string;
}

@InputType({ description: "A notification and whether it was read." })
export class MarkInboxNotificationInput {
  @Field(() => UUID, { description: "The notification." }) id!: string;
  @Field(() => Boolean, { description: "False makes it unread again." }) isRead!: boolean;
}

@ObjectType({ description: "The notification sent." })
export class SendCustomNotificationPayload {
  notificationId!: string | undefined;

  @Covers()
  @Field(() => InboxNotificationType, {
    nullable: true,
    description: "The new notification; none if the idempotency key was used for it before.",
  })
  notification(@Root() { notificationId }: SendCustomNotificationPayload, @Ctx() ctx: Context) {
    return notificationId && readInboxNotification(ctx, notificationId);
  }
}

@ObjectType({ description: "The notification marked." })
export class MarkInboxNotificationPayload {
  notificationId!: string;

  @Field(() => InboxNotificationType, { description: "The notification." })
  notification(@Root() { notificationId }: MarkInboxNotificationPayload, @Ctx() ctx: Context) {
    return readInboxNotification(ctx, notificationId);
  }

  @Needs("inbox_notification:read")
  @Field(() => Int, { description: "How many are unread now." })
  unreadCount(@Ctx() ctx: Context) {
    return countUnread(ctx);
  }
}

@ObjectType({ description: "The inbox after everything was marked as read." })
export class MarkAllInboxNotificationsReadPayload {
  @Needs("inbox_notification:read")
  @Field(() => Int, { description: "How many are unread now: those that arrived meanwhile." })
  unreadCount(@Ctx() ctx: Context) {
    return countUnread(ctx);
  }
}

@ObjectType({ description: "A page of an inbox, newest first." })
export class InboxNotificationConnection extends connectionOf("InboxNotification", () => InboxNotificationType) {
  @Field(() => Int, { description: "How many are unread, whatever the filter." })
  unreadCount(@Ctx() ctx: Context) {
    return countUnread(ctx);
  }
}

@Resolver()
export class NotificationsResolver {
  @Needs("inbox_notification:read")
  @Query(() => InboxNotificationType, { description: "One notification of the caller's inbox." })
  inboxNotification(
    @Arg("id", () => UUID, { description: "The notification." }) id: string,
    @Ctx() ctx: Context,
  ): Promise<InboxNotification> {
    return readInboxNotification(ctx, id);
  }

  @Needs("inbox_notification:read")
  @Query(() => InboxNotificationConnection, { description: "The caller's inbox, newest first." })
  inboxNotifications(
    @Arg("filter", () => InboxFilterInput, { nullable: true, description: "Which notifications are meant." })
    filter: InboxFilterInput | undefined,
    @Args(() => PageArgs) page: PageArgs,
    @Ctx() ctx: Context,
  ): Promise<Page<InboxNotification>> {
    return listInboxNotifications(ctx, filter ?? {}, page);
  }

  @Needs("notification_message:create")
  @Mutation(() => SendCustomNotificationPayload, {
    description: "Notifies the caller of a text of its own. At most 20 a minute.",
  })
  async sendCustomNotification(
    @Arg("input", () => SendCustomNotificationInput, { description: "What to tell." })
    input: SendCustomNotificationInput,
    @Ctx() ctx: Context,
  ) {
    return { notificationId: await sendCustomNotification(ctx, input.content, input.idempotencyKey) };
  }

  @Needs("inbox_notification:update")
  @Mutation(() => MarkInboxNotificationPayload, {
    description: "Marks a notification as read or unread. Repeating it changes nothing.",
  })
  async markInboxNotification(
    @Arg("input", () => MarkInboxNotificationInput, { description: "The notification and the mark." })
    input: MarkInboxNotificationInput,
    @Ctx() ctx: Context,
  ) {
    return { notificationId: await markInboxNotification(ctx, input) };
  }

  @Needs("inbox_notification:update")
  @Mutation(() => MarkAllInboxNotificationsReadPayload, {
    description: "Marks everything in the caller's inbox as read.",
  })
  async markAllInboxNotificationsRead(@Ctx() ctx: Context) {
    await markAllInboxNotificationsRead(ctx);
    return {};
  }

  @Needs("inbox_notification:read")
  @Subscription(() => InboxEventType, {
    description: "What happens in the caller's inbox. At most 20 at once per user.",
    subscribe: ({ args, context }: { args: WatchInbox; context: Context }) => watchInbox(context, args),
  })
  inboxEvents(
    @Root() event: InboxEvent,
    @Arg("filter", () => InboxFilterInput, { nullable: true, description: "Which notifications to tell of." })
    _filter?: InboxFilterInput,
    @Arg("format", () => TextFormat, { nullable: true, description: "How texts are written. Default: MARKDOWN." })
    _format?: TextFormat,
    @Arg("since", () => String, {
      nullable: true,
      description: "A cursor or the id of a notification: everything after it comes first.",
    })
    _since?: string,
  ): InboxEvent {
    return event;
  }
}
