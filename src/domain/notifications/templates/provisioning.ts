import { noActions, viewTemplate } from "./actions.js";
import type { NotificationTemplate } from "./template.js";

const templateEvent = {
  group: "Template Events",
  kind: "system",
  icon: "DEFAULT_ICON_TEMPLATE",
  recipients: "Template administrators of the deployment, and administrators of the organization.",
  actions: viewTemplate,
} as const;

export const templateNotifications = {
  deleted: {
    ...templateEvent,
    id: "29a09665-2a4c-403f-9648-54301670e7be",
    name: "Template Deleted",
    recipients: "Template administrators and administrators of the organization, except the initiator.",
    labels: ["name", "initiator"],
    actions: noActions,
    title: "Template {{ labels.name }} was deleted",
    body: `**{{ labels.initiator }}** deleted the template **{{ labels.name }}**. New workspaces cannot be created from it.`,
  },
  deprecated: {
    ...templateEvent,
    id: "f40fae84-55a2-42cd-99fa-b41c1ca64894",
    name: "Template Deprecated",
    recipients: "The owners of workspaces that use the template.",
    labels: ["template", "message"],
    title: "Template {{ labels.template }} is deprecated",
    body: `The template **{{ labels.template }}**, which workspaces of yours use, is deprecated: no more workspaces can be created from it. Yours keep working.

{{ labels.message }}`,
  },
  failedBuilds: {
    ...templateEvent,
    id: "34a20db2-e9cc-4a93-b0e4-8569699d7a00",
    name: "Report: Workspace Builds Failed",
    recipients: "Template administrators and administrators of the organization, once a week.",
    labels: ["template_display_name"],
    event: {
      type: "template.builds_failed",
      when: "Builds of workspaces with a template failed in the last week.",
      details: ["failed_builds", "total_builds"],
    },
    title: "Failed builds of the template {{ labels.template_display_name }}",
    body: `In the last {{ data.report_frequency }}, {{ data.failed_builds }} of {{ data.total_builds }} builds of workspaces with the template **{{ labels.template_display_name }}** failed.
{% for version in data.template_versions %}
- Version **{{ version.template_version_name }}**: {{ version.failed_count }} failed
{%- endfor %}`,
  },
  resourceReplaced: {
    ...templateEvent,
    id: "89d9745a-816e-4695-a17f-3d0a229e2b8d",
    name: "Prebuilt Workspace Resource Replaced",
    labels: ["workspace", "template", "version", "preset"],
    event: {
      type: "template.prebuild_replaced",
      when: "Resources of a prebuilt workspace were replaced when it was claimed.",
      details: ["workspace", "version", "preset"],
    },
    title: "Prebuilt resources of {{ labels.template }} are not kept",
    body: `When the prebuilt workspace **{{ labels.workspace }}** was claimed, its resources differed from those that were prebuilt, and had to be created again. Users wait longer for such workspaces.

- Template: **{{ labels.template }}**, version **{{ labels.version }}**
- Preset: **{{ labels.preset }}**

Resources are kept if none of their values depends on the name or the owner of the workspace.`,
  },
  prebuildFailed: {
    ...templateEvent,
    id: "14cfc59b-4716-490c-8970-8103ad636147",
    name: "Prebuild Failed",
    recipients:
      "Template administrators, administrators of the organization, and users who administer the template because it is shared with them or they created it; otherwise, the owners of the deployment. Once an hour for each version.",
    labels: ["template", "version", "preset", "reason"],
    event: {
      type: "template.prebuild_failed",
      when: "A workspace could not be prebuilt. Once an hour for each version.",
      details: ["version", "preset"],
    },
    title: "Prebuilding {{ labels.preset }} of {{ labels.template }} failed",
    body: `A workspace could not be prebuilt for the preset **{{ labels.preset }}** of the template **{{ labels.template }}**, version **{{ labels.version }}**:

{{ labels.reason }}

After three failures in a row, no more workspaces are prebuilt for the preset until the template has a new version.`,
  },
  prebuildLimit: {
    ...templateEvent,
    id: "414d9331-c1fc-4761-b40c-d1f4702279eb",
    name: "Prebuild Failure Limit Reached",
    labels: ["template", "preset"],
    event: {
      type: "template.prebuilds_stopped",
      when: "Workspaces are prebuilt no more for a preset, since that failed too often.",
      details: ["preset"],
    },
    title: "Prebuilding {{ labels.preset }} of {{ labels.template }} stopped",
    body: `Prebuilding workspaces for the preset **{{ labels.preset }}** of the template **{{ labels.template }}** failed too often and has stopped. It continues with the next version of the template.`,
  },
} satisfies Record<string, NotificationTemplate>;
