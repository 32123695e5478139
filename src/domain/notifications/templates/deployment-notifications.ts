import type { NotificationTemplate } from "./template.js";

export const deploymentNotifications = {
  healthChanged: {
    id: "7f9c1c1e-5a0e-4c36-9a53-0d6a3a5a2f10",
    name: "Deployment Health Changed",
    group: "Deployment Events",
    kind: "system",
    icon: "DEFAULT_ICON_OTHER",
    recipients: "Owners, once for each change of a check that lasts for a minute and is not muted.",
    labels: ["summary"],
    actions: `[{"label": "View health", "url": "{{ app.base_url }}/health"}]`,
    title: "Health: {{ labels.summary }}",
    body: `{% for change in data.changes %}
- **{{ change.title }}** {{ change.state }}. {{ change.finding }}{% if change.advice != "" %} {{ change.advice }}{% endif %}
{%- endfor %}`,
  },
} satisfies Record<string, NotificationTemplate>;
