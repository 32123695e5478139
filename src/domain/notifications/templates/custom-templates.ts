import { noActions } from "./actions.js";
import type { PlainTemplate } from "./template.js";

export const testTemplate: PlainTemplate = {
  id: "c425f63e-716a-4bf4-ae24-78348f706c3f",
  name: "Test Notification",
  group: "Notification Events",
  kind: "system",
  icon: "DEFAULT_ICON_OTHER",
  recipients: "The owner who requests it.",
  labels: [],
  isMandatory: true,
  actions: noActions,
  title: "Test notification",
  body: "You requested this notification. Since it has arrived, the delivery of notifications works.",
};

/** The only texts that users write: their Markdown is kept. */
export const customTemplate: PlainTemplate = {
  id: "39b1e189-c857-4b0c-877a-511144c18516",
  name: "Custom Notification",
  group: "Custom Events",
  kind: "custom",
  icon: "DEFAULT_ICON_OTHER",
  recipients: "The user who sends it.",
  labels: ["custom_title", "custom_message"],
  actions: noActions,
  title: '{{ labels.custom_title | default: "Custom Notification" | raw }}',
  body: "{{ labels.custom_message | raw }}",
};
