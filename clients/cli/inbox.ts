import { command, flag, limit, limitOf, UsageError } from "./command.js";
import {
  Inbox,
  InboxEvents,
  MarkAllNotifications,
  MarkNotification,
  type NotificationRowFragment,
} from "./inbox.gql.js";
import { moment } from "./output.js";

const list = command({
  usage: "inbox list",
  summary: "List your notifications, the newest first.",
  options: {
    unread: flag("Only those that are not read."),
    limit,
  },
  run: async ({ api: open, options, output }) => {
    const first = limitOf(options.limit);
    const filter = { readStatus: options.unread ? ("UNREAD" as const) : ("ALL" as const) };
    const { inboxNotifications } = await (await open()).run(Inbox, { filter, first });
    output.list(inboxNotifications.nodes, {
      ID: ({ id }) => id,
      TIME: ({ createdAt }) => moment(createdAt),
      READ: ({ readAt }) => (readAt ? "read" : "unread"),
      TITLE: ({ plainTitle }) => plainTitle,
    });
  },
});

const watch = command({
  usage: "inbox watch",
  summary: "Print notifications as they arrive, until Ctrl-C. After a lost connection, it goes on where it stopped.",
  options: { unread: flag("Begin with those that are not read.") },
  isEndless: true,
  run: async ({ api: open, options, output }) => {
    const api = await open();
    const { inboxNotifications: before } = await api.run(Inbox, {
      filter: { readStatus: options.unread ? "UNREAD" : "ALL" },
      first: options.unread ? 1000 : 1,
    });
    const show = (notification: NotificationRowFragment) => {
      const { plainTitle, plainContent, createdAt, actions } = notification;
      const links = actions.map(({ label, url }) => `${label}: ${url}`);
      const text = indentContent([plainContent.trim(), ...links].filter(Boolean).join("\n"));
      output.event(notification, `${moment(createdAt)}  ${plainTitle}\n${text}`);
    };
    if (options.unread) before.nodes.toReversed().forEach(show);
    // 0 stands before the first notification.
    let since =
      before.nodes[0]?.id ?? (await api.run(Inbox, { filter: {}, first: 1 })).inboxNotifications.nodes[0]?.id ?? "0";
    output.note(`Watching the inbox at ${api.url}: ${before.unreadCount} unread. Ctrl-C ends.`);
    for await (const { event } of api.live(InboxEvents, () => ({ since }))) {
      if (event.__typename !== "InboxNotificationAdded") continue;
      since = event.cursor;
      show(event.notification);
    }
  },
});

const indentContent = (content: string) =>
  content
    .split("\n")
    .map((line) => `    ${line}`)
    .join("\n");

const read = command({
  usage: "inbox read (ID... | --all)",
  summary: "Mark notifications as read.",
  takes: [0, Infinity],
  options: { all: flag("All of them."), unread: flag("Mark them as unread instead.") },
  run: async ({ api: open, words, options, output }) => {
    if (options.all === words.length > 0) throw new UsageError("Specify IDs of notifications, or --all.");
    if (options.all && options.unread) throw new UsageError("--unread needs IDs of notifications.");
    const api = await open();
    if (options.all) {
      await api.run(MarkAllNotifications, {});
      return output.done({ unreadCount: 0 }, "All notifications are read.");
    }
    let left = 0;
    for (const id of words)
      left = (await api.run(MarkNotification, { input: { id, isRead: !options.unread } })).markInboxNotification
        .unreadCount;
    output.done({ unreadCount: left }, `${left} notifications are unread.`);
  },
});

export const inboxCommands = { "inbox list": list, "inbox watch": watch, "inbox read": read };
