import { useState } from "preact/hooks";
import { useAllowed } from "../api/allowed";
import { useData, usePolling } from "../api/hooks";
import { Action } from "../ui/action";
import { Revealed } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { Choice, Filters, List } from "../ui/list";
import { Empty, Facts, Heading, Labels, Loading, Pairs, Panel, PersonLink, Status, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { wordsOf } from "../ui/text";
import { JobLog } from "./job-log";
import { OrganizationChoice, useOrganization } from "./organization-choice";
import {
  CancelJob,
  CreateProvisionerKey,
  DeleteProvisionerDaemon,
  DeleteProvisionerKey,
  EndProvisionerKeyFormerSecret,
  Job,
  Jobs,
  type ProvisionerJobStatus,
  type ProvisionerJobType,
  Provisioners,
  RotateProvisionerKey,
} from "./provisioners.gql";

/** Milliseconds between loads: daemons and jobs have no subscription. */
const pollInterval = 5_000;

export function ProvisionersView() {
  const choice = useOrganization();
  const organization = choice.chosen?.id;
  // Shown here: the button of the key is gone as soon as the key has a former secret.
  const [rotated, setRotated] = useState<readonly [name: string, secret: string]>();
  const may = useAllowed<"read" | "create" | "delete">(
    organization
      ? {
          read: { may: "provisioner_key:read", organizationId: organization },
          create: { may: "provisioner_key:create", organizationId: organization },
          delete: { may: "provisioner_key:delete", organizationId: organization },
        }
      : undefined,
  );
  const provisioners = useData(
    Provisioners,
    organization && may.isKnown ? { organization, keys: may("read") } : undefined,
  );
  usePolling(provisioners, pollInterval);
  const { provisionerKeys: keys, provisionerDaemons: daemons } = provisioners.data ?? {};
  return (
    <>
      <Heading title="Provisioners" note="They build the workspaces. Each daemon signs in with a key.">
        {organization && may("create") && (
          <Action
            label="Create a key"
            look="primary"
            run={CreateProvisionerKey}
            given={{ organization }}
            fields={[
              { name: "name", hint: "Which daemons use it, such as rack-3." },
              {
                name: "tags",
                hint: 'JSON, such as {"rack": "3"}. Daemons with this key take only jobs with these tags.',
              },
            ]}
            submit="Create"
            reveal={({ createProvisionerKey }) => [
              `Key ${createProvisionerKey.provisionerKey.name}`,
              createProvisionerKey.key,
            ]}
          />
        )}
      </Heading>
      {rotated && <Revealed title={`Key ${rotated[0]}`} secret={rotated[1]} onClose={() => setRotated(undefined)} />}
      {choice.all.length > 1 && (
        <Filters>
          <OrganizationChoice of={choice} />
        </Filters>
      )}
      {choice.error && !choice.chosen && <Failure error={choice.error} retry={choice.refresh} />}
      <Panel title="Daemons">
        <List
          name="Daemons"
          rows={daemons}
          from={provisioners}
          empty="No daemon has connected. Create a key, and start `npm run provisioner` with it."
          columns={[
            {
              title: "Daemon",
              show: ({ name, version }) => (
                <>
                  {name} <span class="faint">{version}</span>
                </>
              ),
            },
            { title: "Status", show: ({ status }) => <Status name={status} /> },
            { title: "Builds", show: ({ provisioners: types }) => <Labels of={types} /> },
            { title: "Tags", show: ({ tags }) => <Pairs of={tags} /> },
            { title: "Key", show: ({ keyName }) => keyName },
            {
              title: "Job",
              show: ({ currentJob }) =>
                currentJob && <a href={`/jobs/${currentJob.id}`}>{wordsOf(currentJob.status)}</a>,
            },
            { title: "Last seen", show: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
            {
              title: "Actions",
              isAction: true,
              show: (daemon) =>
                may("delete") &&
                daemon.status === "OFFLINE" && (
                  <Action
                    label="Remove"
                    on={daemon.name}
                    look="danger"
                    confirm="It is removed from the list until it connects again."
                    run={DeleteProvisionerDaemon}
                    given={{ id: daemon.id }}
                  />
                ),
            },
          ]}
        />
      </Panel>
      {may("read") && organization && (
        <Panel title="Keys">
          <List
            name="Keys"
            rows={keys}
            from={provisioners}
            empty="No key. Daemons of your own need one."
            columns={[
              { title: "Name", show: ({ name }) => name },
              { title: "Tags", show: ({ tags }) => <Pairs of={tags} /> },
              { title: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
              { title: "Last used", show: ({ lastUsedAt }) => <Time at={lastUsedAt} none="never" /> },
              {
                title: "Former secret",
                show: ({ formerSecret }) =>
                  formerSecret && (
                    <>
                      Ends <Time at={formerSecret.endsAt} />
                      <span class="faint block">
                        Last used <Time at={formerSecret.lastUsedAt} none="never" />
                      </span>
                    </>
                  ),
              },
              {
                title: "Actions",
                isAction: true,
                show: (key) => (
                  <>
                    {may("create") && !key.formerSecret && (
                      <Action
                        label="Rotate"
                        on={key.name}
                        run={RotateProvisionerKey}
                        given={{ organization, name: key.name }}
                        fields={[
                          {
                            name: "overlapSeconds",
                            hint: "How long the present secret stays valid beside the new one. Default: 1 day.",
                          },
                        ]}
                        done={({ rotateProvisionerKey }) => setRotated([key.name, rotateProvisionerKey.key])}
                      />
                    )}
                    {may("delete") && key.formerSecret && (
                      <Action
                        label="End former secret"
                        on={key.name}
                        confirm="Daemons that use it are disconnected."
                        run={EndProvisionerKeyFormerSecret}
                        given={{ organization, name: key.name }}
                        said="The former secret has ended."
                      />
                    )}
                    {may("delete") && (
                      <Action
                        label="Delete"
                        on={key.name}
                        look="danger"
                        confirm="Its daemons are disconnected, and their jobs fail. This cannot be undone."
                        run={DeleteProvisionerKey}
                        given={{ organization, name: key.name }}
                        said="The key is deleted."
                      />
                    )}
                  </>
                ),
              },
            ]}
          />
        </Panel>
      )}
    </>
  );
}

const statuses: readonly ProvisionerJobStatus[] = [
  "PENDING",
  "RUNNING",
  "SUCCEEDED",
  "FAILED",
  "CANCELING",
  "CANCELED",
];
const types: readonly ProvisionerJobType[] = ["WORKSPACE_BUILD", "TEMPLATE_VERSION_IMPORT", "TEMPLATE_VERSION_DRY_RUN"];
const running = new Set(["PENDING", "RUNNING"]);

export function JobsView() {
  const place = usePlace();
  const choice = useOrganization();
  const organization = choice.chosen?.id;
  const status = place.filter<ProvisionerJobStatus>("status");
  const filter = { status: status && [status], type: place.filter<ProvisionerJobType>("type") };
  const jobs = useData(Jobs, organization ? { organization, filter, ...place.cursors } : undefined);
  usePolling(jobs, pollInterval);
  return (
    <>
      <Heading title="Jobs" note="What provisioners build, the newest first." />
      <Filters place={place}>
        <OrganizationChoice of={choice} />
        <Choice place={place} label="Status" name="status" options={statuses.map((name) => [name, wordsOf(name)])} />
        <Choice place={place} label="Type" name="type" options={types.map((name) => [name, wordsOf(name)])} />
      </Filters>
      <List
        name="Jobs"
        rows={jobs.data?.provisionerJobs}
        from={jobs}
        empty="No job matches."
        place={place}
        columns={[
          { title: "Job", show: (job) => <a href={`/jobs/${job.id}`}>{wordsOf(job.type)}</a> },
          {
            title: "Of",
            show: ({
              metadata: { workspaceName, workspaceBuildTransition: transition, templateName, templateVersionName },
            }) =>
              workspaceName
                ? `${workspaceName}${transition ? `, ${wordsOf(transition).toLowerCase()}` : ""}`
                : `${templateName} ${templateVersionName}`,
          },
          {
            title: "Status",
            show: ({ status: each, queuePosition, queueSize }) => (
              <>
                <Status name={each} />
                {each === "PENDING" && (
                  <span class="faint block">
                    {queuePosition} of {queueSize} in the queue
                  </span>
                )}
              </>
            ),
          },
          { title: "Requested by", show: ({ initiator }) => <PersonLink user={initiator} /> },
          { title: "Daemon", show: ({ workerName }) => workerName },
          { title: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
    </>
  );
}

export function JobView({ id }: { id: string }) {
  const { data, error, refresh } = useData(Job, { id });
  const job = data?.provisionerJob;
  const may = useAllowed<"cancel">(
    job
      ? { cancel: { may: "provisioner_job:update", organizationId: job.organizationId, ownerId: job.initiatorId } }
      : undefined,
  );
  if (!job) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  const { metadata, matchedProvisioners: matched } = job;
  return (
    <>
      <Heading title={wordsOf(job.type)} note={metadata.workspaceName ?? metadata.templateName} up={["/jobs", "Jobs"]}>
        {may("cancel") && running.has(job.status) && (
          <Action
            label="Cancel"
            look="danger"
            confirm="What it has built so far may remain."
            run={CancelJob}
            given={{ job: id }}
            submit="Cancel the job"
          />
        )}
      </Heading>
      <Facts
        facts={[
          ["Status", <Status key="status" name={job.status} />],
          ["Requested by", <PersonLink key="initiator" user={job.initiator} />],
          [
            "Template",
            metadata.templateId ? (
              <a key="template" href={`/templates/${metadata.templateId}`}>
                {metadata.templateName} {metadata.templateVersionName}
              </a>
            ) : (
              metadata.templateName
            ),
          ],
          [
            "Workspace",
            metadata.workspaceId && (
              <a key="workspace" href={`/workspaces/${metadata.workspaceId}`}>
                {metadata.workspaceName}
              </a>
            ),
          ],
          ["Daemon", job.workerName],
          ["Tags", <Pairs key="tags" of={job.tags} />],
          ["Created", <Time key="created" at={job.createdAt} />],
          ["Started", <Time key="started" at={job.startedAt} none="not yet" />],
          ["Completed", <Time key="completed" at={job.completedAt} none="not yet" />],
        ]}
      />
      {job.error && <p class="alarm">{job.error}</p>}
      {job.status === "PENDING" && matched.available === 0 && (
        <Empty>
          {matched.count === 0
            ? "No daemon takes jobs with these tags."
            : `None of its ${matched.count} daemons is online.`}
        </Empty>
      )}
      <Panel title="Log">
        <JobLog jobId={id} label="Log of the job" onEnd={refresh} />
      </Panel>
    </>
  );
}
