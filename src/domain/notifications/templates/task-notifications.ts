import { viewTask } from "./actions.js";
import type { NotificationTemplate } from "./template.js";

const taskEvent = {
  group: "Task Events",
  kind: "system",
  icon: "DEFAULT_ICON_WORKSPACE",
  recipients: "The owner of the task.",
  actions: viewTask,
} as const;

const workspace = "{% if labels.workspace %} in the workspace **{{ labels.workspace }}**{% endif %}";

export const taskNotifications = {
  working: {
    ...taskEvent,
    id: "bd4b7168-d05e-4e19-ad0f-3593b77aa90f",
    name: "Task Working",
    labels: ["task", "workspace"],
    isOffByDefault: true,
    event: { type: "task.working", when: "A task works again.", details: ["workspace"] },
    title: "Task {{ labels.task }} is working",
    body: `The task **{{ labels.task }}**${workspace} is working again.`,
  },
  idle: {
    ...taskEvent,
    id: "d4a6271c-cced-4ed0-84ad-afd02a9c7799",
    name: "Task Idle",
    labels: ["task", "workspace"],
    isOffByDefault: true,
    event: { type: "task.idle", when: "A task waits for input.", details: ["workspace"] },
    title: "Task {{ labels.task }} is waiting for input",
    body: `The task **{{ labels.task }}**${workspace} is waiting for your input.`,
  },
  completed: {
    ...taskEvent,
    id: "8c5a4d12-9f7e-4b3a-a1c8-6e4f2d9b5a7c",
    name: "Task Completed",
    labels: ["task", "workspace"],
    isOffByDefault: true,
    event: { type: "task.completed", when: "A task is complete.", details: ["workspace"] },
    title: "Task {{ labels.task }} is complete",
    body: `The task **{{ labels.task }}**${workspace} is complete.`,
  },
  failed: {
    ...taskEvent,
    id: "3b7e8f1a-4c2d-49a6-b5e9-7f3a1c8d6b4e",
    name: "Task Failed",
    labels: ["task", "workspace"],
    isOffByDefault: true,
    event: { type: "task.failed", when: "A task failed.", details: ["workspace"] },
    title: "Task {{ labels.task }} failed",
    body: `The task **{{ labels.task }}**${workspace} failed. See its log for the reason.`,
  },
  inError: {
    ...taskEvent,
    id: "41c78066-6c9e-4d78-bc3b-3b2e9e357216",
    name: "Task In Error",
    recipients: "The owner of the task, when a build or its program fails, or its machine is gone.",
    labels: ["task", "workspace", "reason"],
    event: {
      type: "task.in_error",
      when: "A build of the workspace of a task failed, or its program, or its machine is gone.",
      details: ["workspace"],
    },
    title: "Task {{ labels.task }} is in error",
    body: `The task **{{ labels.task }}**${workspace} is in error:

{{ labels.reason }}`,
  },
  doesNotStart: {
    ...taskEvent,
    id: "41c78066-6c9e-4d78-bc3b-3b2e9e357217",
    name: "Task Does Not Start",
    recipients: "The owner of the task, once for each start that does not end in time.",
    labels: ["task", "workspace", "reason"],
    event: { type: "task.does_not_start", when: "A task does not start in time.", details: ["workspace"] },
    title: "Task {{ labels.task }} does not start",
    body: `The task **{{ labels.task }}**${workspace} does not start:

{{ labels.reason }}`,
  },
  paused: {
    ...taskEvent,
    id: "2a74f3d3-ab09-4123-a4a5-ca238f4f65a1",
    name: "Task Paused",
    labels: ["task", "task_id", "workspace", "pause_reason"],
    title: "Task {{ labels.task }} is paused",
    body: `The task **{{ labels.task }}**${workspace} was paused {% if labels.pause_reason == "manual" %}by **{{ data.initiator }}**{% else %}after its {{ labels.pause_reason }}{% endif %}. Resume it to continue.`,
  },
  resumed: {
    ...taskEvent,
    id: "843ee9c3-a8fb-4846-afa9-977bec578649",
    name: "Task Resumed",
    labels: ["task", "task_id", "workspace"],
    title: "Task {{ labels.task }} was resumed",
    body: `The task **{{ labels.task }}**${workspace} was resumed by **{{ data.initiator }}**.`,
  },
} satisfies Record<string, NotificationTemplate>;
