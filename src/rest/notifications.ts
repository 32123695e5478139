import { area, type RowOptions } from "./engine/area.js";

const once: RowOptions = {
  headers: { "idempotency-key": "idempotency_key" },
  example: { content: { title: "Backup finished", message: "All **12** volumes are stored." } },
  failures: { 409: "The idempotency key was used for other content." },
};
const extras = { InboxUnreadCountChanged: "unread", InboxWatchRestarted: "restart" };
const live: RowOptions = { stream: { events: extras, id: "cursor", resume: "since" } };
const marked: RowOptions = {
  message: "Notification updated.",
  bodyNotShown: true,
  example: { is_read: true },
};

// oxfmt-ignore
export default area("notifications", "The inbox of the caller, and custom notifications.", [
  ["POST", "/api/v2/notifications/custom",                 "SendCustomNotification",        204, once],
  ["GET",  "/api/v2/notifications/inbox",                  "ListInboxNotifications",        200],
  ["PUT",  "/api/v2/notifications/inbox/mark-all-as-read", "MarkAllInboxNotificationsRead", 204],
  ["GET",  "/api/v2/notifications/inbox/watch",            "WatchInbox",                    200, live],
  ["PUT",  "/api/v2/notifications/inbox/:id/read-status",  "MarkInboxNotification",         200, marked],
]);
