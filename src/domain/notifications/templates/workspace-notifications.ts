import { endsAt, keepRunning, viewWorkspace } from "./actions.js";
import type { NotificationTemplate } from "./template.js";

const workspaceEvent = {
  group: "Workspace Events",
  kind: "system",
  icon: "DEFAULT_ICON_WORKSPACE",
  actions: viewWorkspace,
} as const;

const owner = "The owner of the workspace.";
const ownerUnlessInitiator = "The owner of the workspace, unless the owner caused it.";
const administrators = "Template administrators of the deployment, and administrators of the organization.";
const otherAdministrators = "Template administrators and administrators of the organization, except the initiator.";

export const workspaceNotifications = {
  deleted: {
    ...workspaceEvent,
    id: "f517da0b-cdc9-410f-ab89-a86107c420ed",
    name: "Workspace Deleted",
    recipients: ownerUnlessInitiator,
    labels: ["name", "reason", "initiator"],
    actions: "[]",
    title: "Workspace {{ labels.name }} was deleted",
    body: `Your workspace **{{ labels.name }}** was deleted{% if labels.reason == "autodelete" %} because it was dormant for too long{% elsif labels.initiator %} by **{{ labels.initiator }}**{% endif %}.

Its files and everything else that ran in it are gone.`,
  },
  autobuildFailed: {
    ...workspaceEvent,
    id: "381df2a9-c0c0-4749-420f-80a9280c66f9",
    name: "Workspace Autobuild Failed",
    recipients: owner,
    labels: ["name", "reason"],
    event: {
      type: "workspace.autobuild_failed",
      when: "A build of a workspace failed that no user had requested.",
      details: [],
    },
    title: "Automatic build of workspace {{ labels.name }} failed",
    body: `The scheduled build of your workspace **{{ labels.name }}** failed:

{{ labels.reason }}

The workspace may not be in the state that its schedule asks for. The log of the build says more.`,
  },
  stopsSoon: {
    ...workspaceEvent,
    id: "8c5f1f52-6a55-4b0e-9d3f-2f2f6f7e61b4",
    name: "Workspace Stops Soon",
    recipients: owner,
    labels: ["name", "deadline"],
    actions: keepRunning,
    event: { type: "workspace.stops_soon", when: "A workspace stops by itself soon.", details: ["deadline"] },
    title: "Workspace {{ labels.name }} stops soon",
    body: `Your workspace **{{ labels.name }}** stops by itself on {{ labels.deadline | date: "%Y-%m-%d at %H:%M UTC" }}. Its files stay.

Use it, or keep it running for longer.`,
  },
  lost: {
    ...workspaceEvent,
    id: "0d7a4c1e-52b4-4d57-9a3a-6c1f0e8b2d95",
    name: "Workspace Unhealthy",
    recipients:
      "The owner of the workspace, once an agent has been gone for five minutes. Not for workspaces of tasks.",
    labels: ["name", "reason", "help"],
    event: {
      type: "workspace.unhealthy",
      when: "An agent of a running workspace has been gone for five minutes.",
      details: [],
    },
    title: "Workspace {{ labels.name }} is unhealthy",
    body: `**{{ labels.name }}** does not work: {{ labels.reason }}

{{ labels.help }}`,
  },
  shareEnds: {
    ...workspaceEvent,
    id: "e3b5ff1c-7b61-4c9e-8f57-0d5c2a1a9b03",
    name: "Workspace Share Ends Soon",
    recipients: "The owner of the workspace, and the user with whom it is shared, 14, 7, and 1 days before that ends.",
    labels: ["workspace", "owner", "sharee", "ends_at"],
    event: {
      type: "workspace.share_ends",
      when: "A share of a workspace ends in 14, 7, or 1 days.",
      details: ["sharee", "ends_at"],
    },
    title: "A share of the workspace {{ labels.workspace }} ends soon",
    body: `The workspace **{{ labels.workspace }}** of **{{ labels.owner }}** is shared with **{{ labels.sharee }}** until ${endsAt}.

Its owner can share it for longer.`,
  },
  updatedAutomatically: {
    ...workspaceEvent,
    id: "c34a0c09-0704-4cac-bd1c-0c0146811c2b",
    name: "Workspace Updated Automatically",
    recipients: owner,
    labels: ["name", "template_version_name", "template_version_message"],
    title: "Workspace {{ labels.name }} was updated",
    body: `Your workspace **{{ labels.name }}** now uses version **{{ labels.template_version_name }}** of its template.
{% if labels.template_version_message %}
What changed: {{ labels.template_version_message }}
{% endif %}`,
  },
  dormant: {
    ...workspaceEvent,
    id: "0ea69165-ec14-4314-91f1-69566ac3c5a0",
    name: "Workspace Marked as Dormant",
    recipients: ownerUnlessInitiator,
    labels: ["name", "reason", "initiator", "deleting_at"],
    title: "Workspace {{ labels.name }} is dormant",
    body: `Your workspace **{{ labels.name }}** was marked as dormant{% if labels.initiator %} by **{{ labels.initiator }}**{% endif %}{% if labels.reason %}: {{ labels.reason }}{% endif %}.

It is stopped and cannot be used until you activate it.
{% if labels.deleting_at %}
Unless it is activated, it will be deleted on {{ labels.deleting_at | date: "%Y-%m-%d at %H:%M UTC" }}.
{% endif %}`,
  },
  offered: {
    ...workspaceEvent,
    id: "0d2b9a52-2f5c-4a1b-9b0e-8f6f6b2f7c31",
    name: "Workspace Offered",
    recipients: "The user to whom an administrator offers a workspace.",
    labels: ["name", "initiator"],
    actions: `[{"label": "View workspaces", "url": "{{ app.base_url }}/workspaces"}]`,
    title: "Workspace {{ labels.name }} is offered to you",
    body: `{% if labels.initiator %}**{{ labels.initiator }}**{% else %}An administrator{% endif %} offers you the workspace **{{ labels.name }}** of another user. It becomes yours when you accept it, within a week.

Files and programs of the former owner stay inside.`,
  },
  markedForDeletion: {
    ...workspaceEvent,
    id: "51ce2fdf-c9ca-4be1-8d70-628674f9bc42",
    name: "Workspace Marked for Deletion",
    recipients: owner,
    labels: ["name", "reason", "deleting_at"],
    event: {
      type: "workspace.marked_for_deletion",
      when: "A dormant workspace will be deleted.",
      details: ["deleting_at"],
    },
    title: "Workspace {{ labels.name }} will be deleted",
    body: `Your workspace **{{ labels.name }}** will be deleted{% if labels.deleting_at %} on {{ labels.deleting_at | date: "%Y-%m-%d at %H:%M UTC" }}{% endif %}{% if labels.reason %}: {{ labels.reason }}{% endif %}.

Activate it before then to keep it.`,
  },
  manualBuildFailed: {
    ...workspaceEvent,
    id: "2faeee0f-26cb-4e96-821c-85ccb9f71513",
    name: "Workspace Manual Build Failed",
    recipients: administrators,
    labels: ["name", "template_name", "template_version_name", "initiator"],
    title: "Build of workspace {{ labels.name }} failed",
    body: `A build of the workspace **{{ labels.name }}** failed.

- Template: **{{ labels.template_name }}**, version **{{ labels.template_version_name }}**
- Started by: **{{ labels.initiator }}**

The log of the build has the reason. If it is in the template, other workspaces may be affected, too.`,
  },
  buildFailed: {
    ...workspaceEvent,
    id: "d7b22ce8-89aa-4c4a-b3dc-319b4c117e4b",
    name: "Workspace Build Failed",
    recipients: "The owner of the workspace. Owners of tasks are told about the task instead.",
    labels: ["name", "transition", "reason", "initiator"],
    event: {
      type: "workspace.build_failed",
      when: "A build of a workspace failed that a user had requested. Not for workspaces of tasks.",
      details: ["transition", "initiator"],
    },
    title: "Your workspace {{ labels.name }} failed to {{ labels.transition }}",
    body: `Your workspace **{{ labels.name }}** failed to {{ labels.transition }}, as **{{ labels.initiator }}** requested:

{{ labels.reason }}

The log of the build says more.`,
  },
  created: {
    ...workspaceEvent,
    id: "281fdf73-c6d6-4cbb-8ff5-888baf8a2fff",
    name: "Workspace Created",
    recipients: otherAdministrators,
    labels: ["workspace", "template", "version"],
    isOffByDefault: true,
    title: "Workspace {{ labels.workspace }} was created",
    body: `The workspace **{{ labels.workspace }}** was created from version **{{ labels.version }}** of the template **{{ labels.template }}**.`,
  },
  manuallyUpdated: {
    ...workspaceEvent,
    id: "d089fe7b-d5c5-4c0c-aaf5-689859f7d392",
    name: "Workspace Manually Updated",
    recipients: otherAdministrators,
    labels: ["workspace", "initiator", "version", "template"],
    isOffByDefault: true,
    title: "Workspace {{ labels.workspace }} was updated",
    body: `**{{ labels.initiator }}** updated the workspace **{{ labels.workspace }}** to version **{{ labels.version }}** of the template **{{ labels.template }}**.`,
  },
  outOfMemory: {
    ...workspaceEvent,
    id: "a9d027b4-ac49-4fb1-9f6d-45af15f64e7a",
    name: "Workspace Out Of Memory",
    recipients: owner,
    labels: ["workspace", "threshold"],
    event: { type: "workspace.out_of_memory", when: "A workspace runs out of memory.", details: ["threshold"] },
    title: "Workspace {{ labels.workspace }} is low on memory",
    body: `Your workspace **{{ labels.workspace }}** uses more than {{ labels.threshold }} of its memory.

Close programs that you do not need, or the workspace may end some of them.`,
  },
  outOfDisk: {
    ...workspaceEvent,
    id: "f047f6a3-5713-40f7-85aa-0394cce9fa3a",
    name: "Workspace Out Of Disk",
    recipients: owner,
    labels: ["workspace"],
    event: { type: "workspace.out_of_disk", when: "A workspace runs out of disk space.", details: [] },
    title: "Workspace {{ labels.workspace }} is low on disk space",
    body: `Your workspace **{{ labels.workspace }}** is running out of disk space:
{% for volume in data.volumes %}
- **{{ volume.path }}** is more than {{ volume.threshold }} full
{%- endfor %}

Delete files that you do not need, or programs may fail to save their work.`,
  },
} satisfies Record<string, NotificationTemplate>;
