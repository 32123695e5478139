import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { useAllowed } from "../api/allowed";
import { ask } from "../api/client";
import { useData, useLive, usePolling } from "../api/hooks";
import { Action } from "../ui/action";
import { Revealed } from "../ui/dialog";
import { Failure } from "../ui/failure";
import { HealthNote, HealthStatus } from "../ui/health";
import { List } from "../ui/list";
import { FormDialog } from "../ui/form";
import { type Line, Log } from "../ui/log";
import { attempt } from "../ui/notices";
import { Empty, Facts, Heading, Labels, Loading, Panel, PersonLink, Share, Status, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { bytesOf, durationOf, titleOf, wordsOf } from "../ui/text";
import { AddPerson } from "./groups";
import { JobLog } from "./job-log";
import { AgentState, Apps, Connect } from "./workspace-apps";
import { canStart, canStop, Restart, CreateButton, StartWith, Transition } from "./workspace-changes";
import {
  ActivateWorkspace,
  AgentLog,
  AgentLogAppended,
  BuildLog,
  type BuildFragment,
  BuildUpdated,
  DeleteWorkspace,
  ExtendDeadline,
  ExternalAgent,
  SetSecretInjection,
  UpdateWorkspace,
  UpdateWorkspaceAcl,
  Workspace,
  WorkspaceShares,
} from "./workspace.gql";
import { TransferButton } from "./transfers";
import { perform } from "../api/client";

/** Milliseconds between two looks at agents that change, and at those that are connected. */
const pollInterval = { changing: 1_500, settled: 15_000 };

/** The states in which a daemon may be missing, or has failed. */
const stuck = new Set(["PENDING", "FAILED", "CANCELED"]);

export function WorkspaceView({ id }: { id: string }) {
  const { route } = useLocation();
  const place = usePlace();
  const loaded = useData(Workspace, { id, ...place.cursors });
  const { data, error, refresh } = loaded;
  const workspace = data?.workspace ?? undefined;
  const ofOwner = workspace && { ownerId: workspace.owner.id, organizationId: workspace.organization.id };
  const may = useAllowed<
    | "update"
    | "create"
    | "start"
    | "stop"
    | "delete"
    | "share"
    | "run"
    | "giveSecrets"
    | "use"
    | "orphan"
    | "transfer"
    | "connect"
  >(
    ofOwner && {
      update: { may: "workspace:update", resourceId: id },
      start: { may: "workspace:start", resourceId: id },
      stop: { may: "workspace:stop", resourceId: id },
      delete: { may: "workspace:delete", resourceId: id },
      connect: { may: "workspace:ssh", resourceId: id },
      share: { may: "workspace:share", resourceId: id },
      run: { may: "workspace_agent:read_credentials", ...ofOwner },
      use: { may: "template:use", resourceId: workspace.template.id },
      create: { may: "workspace:create", ownerId: "me", anyOrg: true },
      orphan: { may: "template:update", resourceId: workspace.template.id },
      giveSecrets: { may: "user_secret:update", ...ofOwner },
      transfer: { may: "workspace_transfer:create", organizationId: workspace.organization.id },
    },
  );
  useLive(BuildUpdated, id, { variables: () => ({ workspaceId: id }), onEvent: refresh, onRestart: refresh });
  const agents = workspace?.latestBuild?.resources.flatMap((resource) => resource.agents) ?? [];
  // Agents and their apps change without their build.
  const isSettled = agents.every(
    ({ status, apps }) => status === "CONNECTED" && apps.every(({ health }) => health !== "INITIALIZING"),
  );
  usePolling(loaded, isSettled ? pollInterval.settled : pollInterval.changing, workspace?.status === "RUNNING");
  if (!workspace) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  const build = workspace.latestBuild;
  const { activeVersion: active, requireActiveVersion } = workspace.template;
  const isRunning = canStop(workspace.status);
  const mayRestart = may("start") && may("stop");
  const isStartable = isRunning ? mayRestart : canStart(workspace.status) && may("start");
  const canRestart = build && isStartable && !workspace.dormantAt && may("use");
  const given = { workspace: id };
  return (
    <>
      <Heading title={workspace.name} note={titleOf(workspace.template)} up={["/workspaces", "Workspaces"]}>
        {workspace.dormantAt && may("update") ? (
          <Action
            label="Wake up"
            look="primary"
            run={ActivateWorkspace}
            given={given}
            said="It can be started again."
          />
        ) : (
          <Transition workspace={workspace} mayStart={may("start")} mayStop={may("stop")} />
        )}
        {isRunning && mayRestart && <Restart workspace={workspace} />}
        {canRestart && workspace.isOutdated && active && (
          <StartWith
            label="Update"
            note={`It starts with version ${active.name} of its template.`}
            workspaceId={id}
            isRunning={isRunning}
            versionId={active.id}
            previous={build.parameters}
          />
        )}
        {canRestart && build.parameters.length > 0 && !(workspace.isOutdated && requireActiveVersion) && (
          <StartWith
            label="Change parameters"
            note="It starts with these values."
            workspaceId={id}
            isRunning={isRunning}
            versionId={build.templateVersionId}
            previous={build.parameters}
          />
        )}
        {may("update") && (
          <Action
            label="Edit"
            run={UpdateWorkspace}
            given={given}
            fields={[
              { name: "name", hint: "Part of addresses and commands. The former one no longer works." },
              {
                name: "ttlSeconds",
                label: "Stops after",
                hint: "How long it runs after a start, such as 8 hours, or never.",
              },
              {
                name: "autostartSchedule",
                label: "Starts by schedule",
                hint: "Minute, hour, and days with a time zone: CRON_TZ=Europe/Berlin 30 9 * * 1-5 is 9:30 on weekdays. Without one, it starts only when you start it.",
                placeholder: "CRON_TZ=Europe/Berlin 30 9 * * 1-5",
              },
              {
                name: "automaticUpdates",
                label: "Automatic updates",
                hint: "Whether a start takes the active version of the template.",
              },
            ]}
            values={workspace}
            submit="Save"
          />
        )}
        {may("update") && workspace.status === "RUNNING" && workspace.deadline && (
          <Action
            label="Extend"
            title="When it stops by itself"
            run={ExtendDeadline}
            given={given}
            fields={[{ name: "deadline", label: "Stops at" }]}
            values={workspace}
            submit="Save"
          />
        )}
        {build && active && may("use") && may("create") && !workspace.isPrebuild && (
          <CreateButton
            label="Duplicate"
            template={workspace.template.id}
            like={build.parameters}
            onCreated={(each) => route(`/workspaces/${each}`)}
          />
        )}
        {may("giveSecrets") && (
          <Action
            label={workspace.injectUserSecrets ? "Keep secrets out" : "Give it the secrets"}
            run={SetSecretInjection}
            given={{ workspaceId: id, enabled: !workspace.injectUserSecrets }}
            said={
              workspace.injectUserSecrets
                ? "It gets no secrets from its next start."
                : "It gets the owner's secrets from its next start."
            }
          />
        )}
        {may("transfer") && workspace.status === "STOPPED" && <TransferButton id={id} onDone={refresh} />}
        {may("delete") && (
          <Action
            label="Delete"
            on={workspace.name}
            look="danger"
            confirm="Its resources and all files in it are deleted. This cannot be undone."
            run={DeleteWorkspace}
            given={given}
            done={() => route("/workspaces")}
            said={`${workspace.name} is being deleted.`}
          />
        )}
        {may("delete") && may("orphan") && stuck.has(workspace.status) && (
          <Action
            label="Delete without cleaning up"
            look="danger"
            confirm={`${workspace.name} is deleted immediately, without a daemon. What daemons have created for it stays behind, such as machines and volumes with its files: delete that yourself. This cannot be undone.`}
            run={DeleteWorkspace}
            given={{ workspace: id, orphan: true }}
            done={() => route("/workspaces")}
            said={`${workspace.name} is deleted.`}
          />
        )}
      </Heading>
      <Facts
        facts={[
          [
            "Status",
            <HealthStatus key="status" status={workspace.status} health={{ state: workspace.health.state }} />,
          ],
          ["Owner", workspace.isPrebuild ? "Built ahead" : <PersonLink key="owner" user={workspace.owner} />],
          ["Organization", titleOf(workspace.organization)],
          [
            "Template version",
            build &&
              (workspace.isOutdated ? `${build.templateVersionName}, not the active one` : build.templateVersionName),
          ],
          ["Credits a day", build?.dailyCost],
          ["Last used", <Time key="used" at={workspace.lastUsedAt} />],
          ["Stops after", durationOf(workspace.ttlSeconds)],
          ...(workspace.deadline ? ([["Stops", <Time key="stops" at={workspace.deadline} />]] as const) : []),
          ["Starts by itself", <Time key="starts" at={workspace.nextAutostartAt} none="never" />],
          ["Takes the active version", workspace.automaticUpdates ? "With each start, if the template allows" : "No"],
          ["Secrets of its owner", workspace.injectUserSecrets ? "It gets them" : "It gets none"],
          ...(workspace.dormantAt
            ? ([["Dormant since", <Time key="dormant" at={workspace.dormantAt} />]] as const)
            : []),
          ...(build?.parameters.map(({ name, value }) => [wordsOf(name), value] as const) ?? []),
        ]}
      />
      <HealthNote health={workspace.health} />
      {build?.job.error && <p class="alarm">{build.job.error}</p>}
      <div class="columns">
        <Panel title="Agents">
          {agents.length === 0 && <Empty>Agents run while the workspace does.</Empty>}
          {build?.resources.map((resource) =>
            resource.agents.map((agent) => (
              <Agent
                key={agent.id}
                agent={agent}
                workspaceId={id}
                workspaceName={`${workspace.owner.username}/${workspace.name}`}
                mayRun={may("run")}
              />
            )),
          )}
        </Panel>
        {build && (
          <Panel title={`Log of build ${build.buildNumber}`}>
            <JobLog key={build.job.id} jobId={build.job.id} label="Log of the build" />
          </Panel>
        )}
      </div>
      {workspace.status === "RUNNING" && agents.length > 0 && may("connect") && (
        <Connect name={`${workspace.owner.username}/${workspace.name}`} agents={agents} />
      )}
      {may("share") && <Shares id={id} organization={workspace.organization.id} />}
      <Panel title="Builds">
        <List
          name="Builds"
          rows={workspace.builds}
          place={place}
          empty="No builds."
          columns={[
            {
              title: "Number",
              show: ({ id: each, buildNumber }) => <a href={`/workspaces/${id}/${each}`}>Build {buildNumber}</a>,
            },
            { title: "Transition", show: ({ transition }) => wordsOf(transition) },
            { title: "Status", show: ({ status }) => <BuildStatus status={status} /> },
            { title: "Requested by", show: ({ initiator }) => initiator.name || initiator.username },
            { title: "Reason", show: ({ reason }) => wordsOf(reason) },
            { title: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
          ]}
        />
      </Panel>
    </>
  );
}

/** The status of a build. That of a start which is over says nothing of what became of the workspace since. */
const BuildStatus = ({ status }: { status: string }) => <Status name={status === "RUNNING" ? "COMPLETED" : status} />;

type AgentData = BuildFragment["resources"][number]["agents"][number];

interface AgentProps {
  agent: AgentData;
  workspaceId: string;
  /** Its name, with the owner's for others than the owner. */
  workspaceName: string;
  mayRun: boolean;
}

function Agent({ agent, workspaceId, workspaceName, mayRun }: AgentProps) {
  const { data } = useData(AgentLog, { id: agent.id });
  const [added, setAdded] = useState<readonly Line[]>([]);
  const [command, setCommand] = useState<string>();
  const first = data?.workspaceAgent?.logs;
  useLive(AgentLogAppended, `${agent.id} ${data !== undefined}`, {
    variables: () =>
      data && { agentId: agent.id, after: String(added.at(-1)?.id ?? first?.pageInfo.endCursor ?? "") || undefined },
    onEvent: ({ workspaceAgentLogAppended: line }) =>
      setAdded((before) => (before.some(({ id }) => id === line.id) ? before : [...before, line])),
  });
  const known = new Set(first?.nodes.map(({ id }) => id));
  const lines = [...(first?.nodes ?? []), ...added.filter(({ id }) => !known.has(String(id)))];
  const { usage } = agent;
  return (
    <article class="agent">
      <h3>
        {agent.name} <Status name={agent.status} />
      </h3>
      <p class="faint">
        {wordsOf(agent.lifecycleState)}, {wordsOf(agent.operatingSystem)} on {agent.architecture.toLowerCase()}
      </p>
      <AgentState agent={agent} />
      <Apps agent={agent} workspace={workspaceName} />
      {usage?.cpuTotalMillicores != null && usage.cpuUsedMillicores != null && (
        <p>
          Processors <Share part={usage.cpuUsedMillicores} of={usage.cpuTotalMillicores} show={coresOf} />
        </p>
      )}
      {usage?.memoryTotalBytes != null && usage.memoryUsedBytes != null && (
        <p>
          Memory <Share part={usage.memoryUsedBytes} of={usage.memoryTotalBytes} show={bytesOf} />
        </p>
      )}
      {usage?.diskTotalBytes != null && usage.diskUsedBytes != null && (
        <p>
          Disk <Share part={usage.diskUsedBytes} of={usage.diskTotalBytes} show={bytesOf} />
        </p>
      )}
      {agent.external && mayRun && (
        <button
          type="button"
          onClick={() =>
            void attempt(async () => {
              const found = await ask(ExternalAgent, { workspaceId, agentName: agent.name });
              setCommand(found.externalAgentCredentials?.command);
            })
          }
        >
          Show how to run it
        </button>
      )}
      <Log lines={lines} label={`Log of ${agent.name}`} />
      {command && <Revealed title={`Run ${agent.name}`} secret={command} onClose={() => setCommand(undefined)} />}
    </article>
  );
}

const coresOf = (millicores: number): string => (millicores / 1000).toFixed(1);

/** The users and groups with whom the owner shares the workspace. */
function Shares({ id, organization }: { id: string; organization: string }) {
  const shares = useData(WorkspaceShares, { id });
  const [chosen, setChosen] = useState<{ id: string; username: string }>();
  const acl = shares.data?.workspace?.acl;
  const rows = acl && [
    ...acl.groups.map(({ group, ...entry }) => ({ ...entry, id: group.id, name: titleOf(group), isGroup: true })),
    ...acl.users.map(({ user, ...entry }) => ({
      ...entry,
      id: user.id,
      name: user.name || user.username,
      isGroup: false,
    })),
  ];
  return (
    <Panel
      title="Shared with"
      actions={<AddPerson label="Share with a user" organization={organization} onChosen={setChosen} />}
    >
      {chosen && (
        <FormDialog
          title={`Share with ${chosen.username}`}
          fields={[{ name: "expiresAt", label: "Ends", kind: "date", hint: "Without a time, until you remove it." }]}
          submit="Share"
          onSubmit={({ expiresAt }) =>
            perform(UpdateWorkspaceAcl, {
              input: {
                workspace: id,
                userPerms: [{ id: chosen.id, role: "use", expiresAt: expiresAt as string | undefined }],
              },
            })
          }
          onClose={() => setChosen(undefined)}
        />
      )}
      <List
        name="Shared with"
        rows={rows}
        from={shares}
        empty="No one else can use it."
        columns={[
          { title: "Who", show: ({ name }) => name },
          { title: "Role", show: ({ role }) => (role === "USE" ? "May use it" : wordsOf(role)) },
          { title: "Ends", show: ({ expiresAt }) => <Time at={expiresAt} none="never" /> },
          {
            title: "Actions",
            isAction: true,
            show: ({ id: holder, name, role, expiresAt, isGroup }) => {
              const entry = (given: { role: string; expiresAt?: string | null }) =>
                isGroup ? { groupPerms: [{ id: holder, ...given }] } : { userPerms: [{ id: holder, ...given }] };
              return (
                <Action
                  label="Remove"
                  on={name}
                  run={UpdateWorkspaceAcl}
                  given={{ workspace: id, ...entry({ role: "" }) }}
                  said={`${name} is removed.`}
                  undo={() => perform(UpdateWorkspaceAcl, { input: { workspace: id, ...entry({ role, expiresAt }) } })}
                />
              );
            },
          },
        ]}
      />
    </Panel>
  );
}

/** One build, with its log. */
export function BuildView({ build: id }: { build: string }) {
  const { data, error, refresh } = useData(BuildLog, { id });
  const build = data?.workspaceBuild;
  if (!build) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  return (
    <>
      <Heading
        title={`Build ${build.buildNumber}`}
        note={`${wordsOf(build.transition)}, template version ${build.templateVersionName}`}
        up={[`/workspaces/${build.workspace.id}`, build.workspace.name]}
      />
      <Facts
        facts={[
          ["Status", <BuildStatus key="status" status={build.status} />],
          ["Requested by", <PersonLink key="initiator" user={build.initiator} />],
          ["Reason", wordsOf(build.reason)],
          ["Created", <Time key="created" at={build.createdAt} />],
          ["Built by", build.job.workerName],
          ["Completed", <Time key="completed" at={build.job.completedAt} none="not yet" />],
          ["Credits a day", build.dailyCost],
          [
            "Parameters",
            <Labels key="parameters" of={build.parameters.map(({ name, value }) => `${name}=${value}`)} />,
          ],
        ]}
      />
      {build.job.error && <p class="alarm">{build.job.error}</p>}
      <Panel title="Log">
        <JobLog jobId={build.job.id} label="Log of the build" onEnd={refresh} />
      </Panel>
    </>
  );
}
