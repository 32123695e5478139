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
  isBodyHidden: true,
  example: { is_read: true },
};

const templates: RowOptions = { withheld: { method: "" } };
const paused: RowOptions = { example: { notifier_paused: true } };
const method: RowOptions = {
  clearable: "method",
  isBodyHidden: true,
  example: { method: "webhook" },
};
const preferences: RowOptions = {
  example: { template_disabled_map: { "d4a6271c-cced-4ed0-84ad-afd02a9c7799": false } },
};

// oxfmt-ignore
export default area("notifications", "The inbox of the caller, what users receive, and how it is delivered.", [
  ["POST", "/api/v2/notifications/custom",                 "SendCustomNotification",        204, once],
  ["GET",  "/api/v2/notifications/inbox",                  "ListInboxNotifications",        200],
  ["PUT",  "/api/v2/notifications/inbox/mark-all-as-read", "MarkAllInboxNotificationsRead", 204],
  ["GET",  "/api/v2/notifications/inbox/watch",            "WatchInbox",                    200, live],
  ["PUT",  "/api/v2/notifications/inbox/:id/read-status",  "MarkInboxNotification",         200, marked],
  ["GET",  "/api/v2/notifications/dispatch-methods",       "GetNotificationMethods",        200, { oneElementArray: true }],
  ["GET",  "/api/v2/notifications/settings",               "GetNotificationSettings",       200],
  ["PUT",  "/api/v2/notifications/settings",               "UpdateNotificationSettings",    200, paused],
  ["GET",  "/api/v2/notifications/templates/system",       "ListSystemTemplates",           200, templates],
  ["GET",  "/api/v2/notifications/templates/custom",       "ListCustomTemplates",           200, templates],
  ["PUT",  "/api/v2/notifications/templates/:notification_template/method", "UpdateTemplateMethod", 200, method],
  ["POST", "/api/v2/notifications/test",                   "SendTestNotification",          200],
  ["GET",  "/api/v2/users/:user/notifications/preferences", "ListNotificationPreferences",   200],
  ["PUT",  "/api/v2/users/:user/notifications/preferences", "UpdateNotificationPreferences", 200, preferences],
]);
