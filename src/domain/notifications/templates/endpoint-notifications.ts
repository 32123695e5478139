import type { NotificationTemplate } from "./template.js";

export const endpointNotifications = {
  disabled: {
    id: "3d0f6b52-4a86-4d1b-9b35-5a0e8c1f7a24",
    name: "Event Endpoint Disabled",
    group: "Deployment Events",
    kind: "system",
    icon: "DEFAULT_ICON_OTHER",
    recipients: "The user who made the endpoint or changed it last, and the administrators of its organization.",
    labels: ["endpoint", "failure"],
    actions: `[{"label": "View endpoint", "url": "{{ app.base_url }}/event-endpoints/{{ data.id }}"}]`,
    title: `Event endpoint "{{ labels.endpoint }}" disabled`,
    body: `The event endpoint **{{ labels.endpoint }}** failed for three days, or said that it is gone, and was disabled. The last failure: {{ labels.failure }} Its events wait until it is resumed.`,
  },
} satisfies Record<string, NotificationTemplate>;
