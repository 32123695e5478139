import type { NotificationTemplate } from "./template.js";

/** The mail to a person who is invited. It is no notification, since the person has no account. */
export const invitationMail: NotificationTemplate = {
  id: "b7b1f3f0-6f0f-4f0a-9d0e-2f6c1b6a4c31",
  name: "Invitation",
  group: "Invitation",
  kind: "system",
  icon: "DEFAULT_ICON_ACCOUNT",
  recipients: "The person who is invited.",
  labels: ["inviter", "email", "until"],
  isMandatory: true,
  title: "{{ labels.inviter }} invites you to Steward",
  body: `**{{ labels.inviter }}** invites you to create an account with the email address {{ labels.email }}.

The link works once, until {{ labels.until }}. Do not pass it on: it creates your account. If you do not know the sender, ignore this message; nothing happens then.`,
  actions: `[{"label": "Accept the invitation", "url": "{{ app.base_url }}/{{ data.path }}"}]`,
};
