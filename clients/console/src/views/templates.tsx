import { starters } from "../../../api/template-starters";
import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { useAllowed } from "../api/allowed";
import { perform } from "../api/client";
import { useData, usePolling } from "../api/hooks";
import { Action } from "../ui/action";
import { Dialog } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { type FieldSpec, LoadingPart } from "../ui/form";
import { Choice, Filters, List, Search } from "../ui/list";
import { say } from "../ui/notices";
import { Empty, Facts, Heading, Labels, Loading, Panel, Person, Status, Time } from "../ui/parts";
import { TextBox } from "../ui/log";
import { usePlace } from "../ui/place";
import { durationOf, inOrder, titleOf, totalOf, wordsOf } from "../ui/text";
import { useOrganizationOptions } from "./organization-choice";
import { ParametersForm } from "./parameters-form";
import { CreateButton } from "./workspace-changes";
import { DocumentAction } from "./template-document";
import { TemplateUsePanel } from "./template-use";
import { TemplateSharing } from "./template-sharing";
import {
  ArchiveTemplateVersion,
  CreateTemplate,
  CreateTemplateVersion,
  DeleteTemplate,
  DryRunTemplateVersion,
  InvalidatePresets,
  Prebuilds,
  SetActiveTemplateVersion,
  Template,
  Templates,
  UpdatePrebuilds,
  UpdateTemplate,
  VersionParameters,
} from "./templates.gql";

export function TemplatesView() {
  const place = usePlace();
  const { route } = useLocation();
  const order = place.order(["NAME", "CREATED_AT"] as const, "NAME");
  const filter = { search: place.filter("q"), organization: place.filter("organization") };
  const templates = useData(Templates, { ...place.cursors, filter, orderBy: order });
  const organizations = useOrganizationOptions();
  const may = useAllowed({
    create: { may: "template:create", anyOrg: true },
    readPrebuilds: { may: "deployment_config:read" },
    prebuilds: { may: "deployment_config:update" },
  });
  const prebuilds = useData(Prebuilds, may("readPrebuilds") ? {} : undefined).data?.prebuildsSettings;
  return (
    <>
      <Heading title="Templates">
        {prebuilds && may("prebuilds") && (
          <Action
            label={prebuilds.reconciliationPaused ? "Resume prebuilds" : "Pause prebuilds"}
            run={UpdatePrebuilds}
            given={{ reconciliationPaused: !prebuilds.reconciliationPaused }}
            said={prebuilds.reconciliationPaused ? "Prebuilds go on." : "No workspaces are built ahead."}
            undo={() => perform(UpdatePrebuilds, { input: { reconciliationPaused: prebuilds.reconciliationPaused } })}
          />
        )}
        {may("create") && organizations.length > 0 && (
          <DocumentAction
            label="Create a template"
            run={CreateTemplate}
            given={{}}
            hasStarters
            before={[
              ...(organizations.length > 1
                ? [{ name: "organization", options: organizations, hint: "Whose members can use it." }]
                : []),
              { name: "name", hint: "Part of addresses and commands, such as node-service." },
              { name: "displayName", hint: "As people see it.", placeholder: "Node service" },
              { name: "description", hint: "What it is for, in a sentence." },
            ]}
            after={[{ name: "everyoneCanUse", label: "All members of the organization may use it" }]}
            defaults={{ document: starters[0]!.document, everyoneCanUse: true }}
            prepare={(values) => ({ organization: organizations[0]![0], ...values })}
            done={({ createTemplate }) => route(`/templates/${createTemplate.template.id}`)}
          />
        )}
      </Heading>
      {prebuilds?.reconciliationPaused && <p class="banner">Prebuilds are paused: no workspaces are built ahead.</p>}
      <Filters place={place}>
        <Search place={place} label="Search by name" />
        {organizations.length > 1 && (
          <Choice place={place} label="Organization" name="organization" options={organizations} />
        )}
      </Filters>
      <List
        name="Templates"
        rows={templates.data?.templates}
        from={templates}
        empty="No template. Templates say what workspaces are made of: create one to begin."
        place={place}
        order={order}
        columns={[
          {
            title: "Template",
            sort: "NAME",
            show: (template) => (
              <>
                <a href={`/templates/${template.id}`}>{titleOf(template)}</a>
                {template.description && <span class="faint block">{template.description}</span>}
              </>
            ),
          },
          { title: "Organization", show: ({ organization }) => titleOf(organization) },
          {
            title: "Active version",
            show: ({ activeVersion }) => activeVersion?.name ?? <Status name="PENDING" label="None yet" />,
          },
          {
            title: "State",
            show: ({ deprecationMessage }) =>
              deprecationMessage ? (
                <Status name="TIMEOUT" label="Deprecated" />
              ) : (
                <Status name="ACTIVE" label="In use" />
              ),
          },
          { title: "Created", sort: "CREATED_AT", show: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
    </>
  );
}

/** A button that plans a workspace of a version with values of its parameters, and shows the log of that. */
function DryRun({ id, name }: { id: string; name: string }) {
  const [isOpen, setOpen] = useState(false);
  const { route } = useLocation();
  const close = () => setOpen(false);
  const parameters = useData(VersionParameters, isOpen ? { id } : undefined);
  return (
    <>
      <button type="button" aria-label={`Dry run of ${name}`} aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Dry run
      </button>
      {isOpen && (
        <Dialog title={`Dry run of ${name}`} onClose={close}>
          <p class="note">A daemon plans a workspace with these values. It creates nothing.</p>
          {parameters.data ? (
            <ParametersForm
              version={parameters.data.templateVersion}
              input={DryRunTemplateVersion.input}
              submit="Plan"
              onSubmit={async (chosen) => {
                const { dryRunTemplateVersion: run } = await perform(DryRunTemplateVersion, {
                  input: { templateVersionId: id, ...chosen },
                });
                route(`/jobs/${run.provisionerJob.id}`);
              }}
              onCancel={close}
            />
          ) : (
            <LoadingPart of={parameters} text="Loading the parameters…" />
          )}
        </Dialog>
      )}
    </>
  );
}

const settings: readonly FieldSpec[] = [
  { name: "name", hint: "Part of addresses and commands." },
  { name: "displayName", hint: "As people see it." },
  { name: "description", hint: "What it is for, in a sentence." },
  { name: "icon", label: "Icon", hint: "The address of a picture, or a path on this server." },
  {
    name: "defaultTtlSeconds",
    label: "Stops after",
    hint: "How long workspaces run after a start, such as 8 hours, or never.",
  },
  {
    name: "activityBumpSeconds",
    label: "Activity adds",
    hint: "How much longer workspaces run while they are used, such as 1 hour.",
  },
  {
    name: "autostopDays",
    label: "Autostop days",
    hint: "On these days, workspaces stop when the quiet hours of their owner begin.",
  },
  { name: "allowUserAutostart", label: "Owners may have their workspaces started by a schedule" },
  { name: "autostartDays", label: "Autostart days", hint: "On other days, schedules start nothing." },
  {
    name: "automaticUpdates",
    label: "Automatic updates",
    options: [
      ["OWNERS_CHOICE", "As their owners choose", "Each owner says whether starts take the active version."],
      ["ALWAYS", "Always", "Every start takes the active version."],
      ["NEVER", "Never", "Workspaces keep their version until their owner updates them."],
    ],
  },
  {
    name: "dormantAfterSeconds",
    label: "Dormant after",
    hint: "How long a workspace is unused before it becomes dormant, such as 30 days, or never.",
  },
  {
    name: "deleteAfterSeconds",
    label: "Deleted after",
    hint: "How long a dormant workspace is kept, such as 30 days, or never.",
  },
  { name: "allowUserCancel", label: "Users may cancel builds that they started" },
  { name: "requireActiveVersion", label: "Only the active version can be started" },
];

const autostartOf = ({
  allowUserAutostart: isAllowed,
  autostartDays: days,
}: {
  allowUserAutostart: boolean;
  autostartDays: readonly string[];
}): string =>
  !isAllowed ? "never" : days.length === 7 ? "on all days" : inOrder(days).map(wordsOf).join(", ") || "never";

/** Milliseconds between two looks at versions that are being imported. */
const pollInterval = 2_000;

export function TemplateView({ id }: { id: string }) {
  const place = usePlace();
  const { route } = useLocation();
  const loaded = useData(Template, { id, ...place.cursors });
  const { data, error, refresh } = loaded;
  const may = useAllowed({
    update: { may: "template:update", resourceId: id },
    delete: { may: "template:delete", resourceId: id },
    use: { may: "template:use", resourceId: id },
    create: { may: "workspace:create", ownerId: "me", anyOrg: true },
  });
  const template = data?.template;
  const isImporting = template?.versions.nodes.some(
    ({ job }) => job?.status === "PENDING" || job?.status === "RUNNING",
  );
  usePolling(loaded, pollInterval, isImporting ?? false);
  if (!template) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  const { activeVersion } = template;
  const presets = activeVersion?.presets ?? [];
  return (
    <>
      <Heading title={titleOf(template)} note={template.description} up={["/templates", "Templates"]}>
        {may("use") && may("create") && activeVersion && !template.deprecationMessage && (
          <CreateButton template={id} onCreated={(workspace) => route(`/workspaces/${workspace}`)} />
        )}
        {may("update") && (
          <>
            <Action
              label="Settings"
              title={`Settings of ${titleOf(template)}`}
              run={UpdateTemplate}
              given={{ templateId: id }}
              fields={settings}
              values={template}
              submit="Save"
            />
            {template.deprecationMessage ? (
              <Action
                label="Allow again"
                run={UpdateTemplate}
                given={{ templateId: id, deprecationMessage: "" }}
                said="New workspaces can use it again."
              />
            ) : (
              <Action
                label="Deprecate"
                run={UpdateTemplate}
                given={{ templateId: id }}
                note="No new workspaces can use it. Existing ones keep working."
                fields={[
                  {
                    name: "deprecationMessage",
                    label: "What to use instead",
                    hint: "Owners of workspaces read it.",
                    isRequired: true,
                  },
                ]}
                said="The template is deprecated."
                undo={() => perform(UpdateTemplate, { input: { templateId: id, deprecationMessage: "" } })}
              />
            )}
            <DocumentAction
              label="New version"
              run={CreateTemplateVersion}
              given={{ templateId: id }}
              before={[{ name: "name", hint: "Such as v2. Without one, it gets a number." }]}
              after={[{ name: "activate", label: "Activate it when it is imported" }]}
              defaults={{ document: activeVersion?.document ?? starters[0]!.document, activate: true }}
              note="The values of variables are not taken over from the version before."
              done={() => say("The version is being imported.")}
            />
          </>
        )}
        {may("delete") && (
          <Action
            label="Delete"
            on={titleOf(template)}
            look="danger"
            confirm={
              template.workspaces.totalCount > 0
                ? `${totalOf(template.workspaces.totalCount)} workspaces use it: delete them first.`
                : "All of its versions are deleted. This cannot be undone."
            }
            run={DeleteTemplate}
            given={{ templateId: id }}
            done={() => route("/templates")}
            said="The template is deleted."
          />
        )}
      </Heading>
      {template.deprecationMessage && <p class="banner">Deprecated: {template.deprecationMessage}</p>}
      <Facts
        facts={[
          [
            "Organization",
            <a key="organization" href={`/organizations/${template.organization.id}`}>
              {titleOf(template.organization)}
            </a>,
          ],
          ["Active version", activeVersion?.name ?? "None yet"],
          [
            "Workspaces",
            <a key="workspaces" href={`/workspaces?template=${id}`}>
              {totalOf(template.workspaces.totalCount)}
            </a>,
          ],
          ["Stops after", durationOf(template.defaultTtlSeconds)],
          ["Activity adds", durationOf(template.activityBumpSeconds)],
          ["Stops by schedule", inOrder(template.autostopDays).map(wordsOf).join(", ") || "never"],
          ["Starts by schedule", autostartOf(template)],
          ["Starts take the active version", wordsOf(template.automaticUpdates)],
          ["Dormant after", durationOf(template.dormantAfterSeconds)],
          ["Deleted after", durationOf(template.deleteAfterSeconds)],
          ["Created by", template.creator.name || template.creator.username],
        ]}
      />
      <TemplateUsePanel id={id} />
      <Panel title="Versions">
        <List
          name="Versions"
          rows={template.versions}
          empty="No version."
          place={place}
          columns={[
            {
              title: "Version",
              show: (version) => (
                <>
                  <b>{version.name}</b>
                  {version.job?.error && <span class="fault block">{version.job.error}</span>}
                </>
              ),
            },
            {
              title: "State",
              show: ({ id: version, archivedAt, job, isImported }) =>
                version === activeVersion?.id ? (
                  <Status name="ACTIVE" />
                ) : archivedAt ? (
                  <Status name="ARCHIVED" />
                ) : isImported ? (
                  <Status name="IMPORTED" />
                ) : (
                  <Status name={job?.status ?? "PENDING"} />
                ),
            },
            { title: "Created by", show: ({ creator }) => <Person user={creator} /> },
            { title: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
            {
              title: "Import",
              show: ({ job }) => job && <a href={`/jobs/${job.id}`}>Log</a>,
            },
            {
              title: "Actions",
              isAction: true,
              show: (version) => (
                <>
                  {may("update") && version.isImported && !version.archivedAt && (
                    <DryRun id={version.id} name={version.name} />
                  )}
                  {may("update") && version.id !== activeVersion?.id && !version.archivedAt && version.isImported && (
                    <>
                      <Action
                        label="Activate"
                        on={version.name}
                        run={SetActiveTemplateVersion}
                        given={{ templateVersionId: version.id }}
                        said={`${version.name} is active.`}
                        undo={
                          activeVersion
                            ? () =>
                                perform(SetActiveTemplateVersion, { input: { templateVersionId: activeVersion.id } })
                            : undefined
                        }
                      />
                      <Action
                        label="Archive"
                        on={version.name}
                        look="danger"
                        confirm="No new workspaces can use it, and it cannot become active again."
                        run={ArchiveTemplateVersion}
                        given={{ templateVersionId: version.id }}
                      />
                    </>
                  )}
                </>
              ),
            },
          ]}
        />
      </Panel>
      <Panel
        title="Presets and prebuilds"
        actions={
          may("update") &&
          presets.some(({ prebuildInstances }) => prebuildInstances > 0) && (
            <Action
              label="Rebuild prebuilds"
              run={InvalidatePresets}
              given={{ templateId: id }}
              confirm="Workspaces that were built ahead are replaced by new ones."
              said="The prebuilds are replaced."
            />
          )
        }
      >
        <List
          name="Presets"
          rows={presets}
          empty="The active version has no presets."
          columns={[
            {
              title: "Preset",
              show: (preset) => (
                <>
                  <b>{titleOf(preset)}</b> {preset.isDefault && <span class="faint">default</span>}
                  {preset.description && <span class="faint block">{preset.description}</span>}
                </>
              ),
            },
            {
              title: "Parameters",
              show: ({ parameters }) => <Labels of={parameters.map(({ name, value }) => `${name}=${value}`)} />,
            },
            { title: "Built ahead", isNumber: true, show: ({ prebuildInstances }) => prebuildInstances },
            { title: "State", show: ({ prebuildStatus }) => <Status name={prebuildStatus} /> },
          ]}
        />
      </Panel>
      {may("update") && <TemplateSharing templateId={id} />}
      {activeVersion?.document && (
        <Panel title={`Document of ${activeVersion.name}`}>
          <TextBox label="Document">{JSON.stringify(activeVersion.document, undefined, 2)}</TextBox>
        </Panel>
      )}
      {!activeVersion && <Empty>The template can be used as soon as a version is imported.</Empty>}
    </>
  );
}
