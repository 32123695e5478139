import { area } from "./engine/area.js";

export default area("notifications", [
  [
    "POST",
    "/api/v2/notifications/custom",
    "SendCustomNotification",
    204,
    { headers: { "idempotency-key": "idempotency_key" } },
  ],
  ["GET", "/api/v2/notifications/inbox", "ListInboxNotifications", 200],
  ["PUT", "/api/v2/notifications/inbox/mark-all-as-read", "MarkAllInboxNotificationsRead", 204],
  [
    "GET",
    "/api/v2/notifications/inbox/watch",
    "WatchInbox",
    200,
    { stream: { events: { InboxUnreadCountChanged: "unread" }, id: "cursor", resume: "since" } },
  ],
  ["PUT", "/api/v2/notifications/inbox/:id/read-status", "MarkInboxNotification", 200],
]);
