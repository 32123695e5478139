import { useLocation } from "preact-iso";
import { useAllowed } from "../api/allowed";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { Chart } from "../ui/chart";
import { Failure } from "../ui/failure";
import { Filters } from "../ui/list";
import { Empty, Heading, Label, Loading, Panel, Share, Time } from "../ui/parts";
import { amountOf, countOf, doneOf, nounOf, titleOf, totalOf, wordsOf } from "../ui/text";
import { isMuted } from "./health-checks";
import { FailedWorkspaceList } from "./failed-workspaces";
import { FirstSteps } from "./first-steps";
import { AiSpending, MostUsedTemplates } from "./overview-use";
import { OwnWork } from "./overview-own";
import { OrganizationChoice, useOrganization } from "./organization-choice";
import { Overview as OverviewQuery, OverviewOrganization, ReleaseHeldWorkspaces } from "./overview.gql";

/** The time zone in which the charts begin their days. */
const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** The beginnings of days such as `2026-01-31`, in seconds since 1970, as charts have them. */
const beginnings = (days: readonly string[]): number[] => days.map((day) => new Date(`${day}T00:00`).getTime() / 1_000);

/** The first of two series without the second, which is a part of it. */
const without = (all: readonly number[], part: readonly number[] | null | undefined): number[] =>
  all.map((count, at) => count - (part?.[at] ?? 0));

export function Overview() {
  const { query } = useLocation();
  const may = useAllowed({
    config: { may: "deployment_config:read" },
    release: { may: "deployment_config:update" },
    users: { may: "user:read" },
    licenses: { may: "license:read" },
    deliveries: { may: "notification_message:read" },
    audit: { may: "audit_log:read" },
  });
  const shown = {
    config: may("config"),
    users: may("users"),
    licenses: may("licenses"),
    deliveries: may("deliveries"),
    audit: may("audit"),
  };
  const { data, error, refresh } = useData(OverviewQuery, may.isKnown ? { ...shown, timeZone } : undefined);
  if (!data) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  const seats = data.entitlements?.features.find(({ name }) => name === "user_limit");
  const counts = data.dailyCounts;
  const givenUp = data.givenUp?.totalCount ?? 0;
  const waiting = [data.pending, data.leased, data.retried].reduce((sum, each) => sum + (each?.totalCount ?? 0), 0);
  const checks = data.healthChecks;
  const failing = checks?.filter((check) => check.state !== "OK" && !isMuted(check)) ?? [];
  const stuck = [
    ...data.unhealthyTasks.nodes.map((task) => ({ ...task, href: `/tasks/${task.id}`, title: titleOf(task) })),
    ...data.unhealthyWorkspaces.nodes
      // Those of tasks are shown as tasks.
      .filter(({ id }) => !data.unhealthyTasks.nodes.some((task) => task.workspaceId === id))
      .map((workspace) => ({ ...workspace, href: `/workspaces/${workspace.id}`, title: workspace.name })),
  ];
  const alarms = [...(data.entitlements?.errors ?? []), ...(data.entitlements?.warnings ?? [])];
  return (
    <>
      <Heading title={`Hello, ${data.me.name || data.me.username}`} note={`Steward ${data.serverInfo.version}`} />
      {"converted" in query && data.me.loginType !== "PASSWORD" && (
        <p class="banner">
          You sign in through {wordsOf(data.me.loginType)} from now on. Your password no longer works.
        </p>
      )}
      {alarms.map((text) => (
        <p key={text} class="banner">
          {text}
        </p>
      ))}
      {data.heldWorkspaces && data.heldWorkspaces.userCount > 0 && (
        <p class="banner">
          {countOf(data.heldWorkspaces.userCount, "user")} were suspended together, as by a faulty sync. Their{" "}
          {countOf(data.heldWorkspaces.workspaceCount, "workspace")} keep running until you release them, or the users
          are activated.{" "}
          {may("release") && (
            <Action
              label="Stop their workspaces"
              look="danger"
              confirm="The running workspaces of these users are stopped. What is not saved in them is lost."
              run={ReleaseHeldWorkspaces}
              given={{}}
              done={refresh}
            />
          )}
        </p>
      )}
      {may("config") && <FirstSteps mayDismiss={may("release")} />}
      <OwnWork />
      <ul class="tiles">
        {data.people && (
          <Tile
            href="/users"
            label="Users"
            count={data.people.totalCount}
            note={
              seats?.limit ? (
                <Share part={seats.actual ?? 0} of={seats.limit} unit="seats" />
              ) : (
                `${data.suspended?.totalCount ?? 0} suspended`
              )
            }
          />
        )}
        <Tile
          href="/workspaces"
          label="Workspaces"
          count={data.workspaces.totalCount}
          note={`${data.running.totalCount} running, ${data.stopped.totalCount} stopped`}
        />
        {data.ofSuspended.totalCount > 0 && (
          <Tile
            href="/workspaces?status=RUNNING&ownerStatus=SUSPENDED"
            label="Running for suspended users"
            count={data.ofSuspended.totalCount}
            isBad
            note="Their owners cannot sign in"
          />
        )}
        <Tile
          href="/workspaces?status=FAILED"
          label="Failed workspaces"
          count={data.failed.totalCount}
          isBad={data.failed.totalCount > 0}
          note={data.failed.totalCount > 0 ? "Their latest build failed" : "No latest build failed"}
        />
        <Tile
          href="/tasks"
          label="Tasks"
          count={data.tasks.totalCount}
          note={`${data.activeTasks.totalCount} active, ${data.failedTasks.totalCount} failed`}
        />
        {checks && checks.length > 0 && (
          <Tile
            href="/health"
            label="Health"
            count={failing.length}
            isBad={failing.some(({ state }) => state === "ERROR")}
            note={
              failing.length > 0
                ? failing
                    .slice(0, 3)
                    .map(({ title }) => title)
                    .join(", ") + (failing.length > 3 ? ", …" : "")
                : `${countOf(checks.length, "check")} find nothing wrong`
            }
          />
        )}
        {data.givenUp && (
          <Tile
            href={givenUp > 0 ? "/deliveries?state=PERMANENT_FAILURE" : "/deliveries"}
            label="Undelivered"
            count={givenUp + waiting}
            isBad={givenUp > 0}
            note={
              givenUp + waiting > 0
                ? `${totalOf(givenUp)} given up, ${totalOf(waiting)} waiting`
                : "No notification waits or was given up"
            }
          />
        )}
      </ul>
      {stuck.length > 0 && (
        <Panel
          title="Yours that need attention"
          actions={
            <>
              <a href="/tasks?owner=me&unhealthy=yes">Tasks</a>
              <a href="/workspaces?owner=me&unhealthy=yes">Workspaces</a>
            </>
          }
        >
          <ul class="links">
            {stuck.map(({ id, href, title, health }) => (
              <li key={id}>
                <span>
                  <a href={href}>{title}</a>
                  <span class="block">{health.reason}</span>
                  {health.help && <span class="faint block">{health.help}</span>}
                </span>
                <Time at={health.since} />
              </li>
            ))}
          </ul>
        </Panel>
      )}
      <OfOrganization>
        {counts?.signIns && (
          <Chart
            title="Sign-ins a day"
            days={beginnings(counts.days)}
            series={[
              { label: "Succeeded", color: "accent", values: counts.signIns },
              { label: "Failed", color: "bad", values: counts.rejectedSignIns ?? [] },
            ]}
          />
        )}
        {counts?.createdUsers && (
          <Chart
            title="New users a day"
            days={beginnings(counts.days)}
            series={[{ label: "Users", color: "accent", values: counts.createdUsers }]}
          />
        )}
      </OfOrganization>
      <div class="columns">
        {data.failed.totalCount > 0 && (
          <Panel title="Workspaces whose latest build failed">
            <FailedWorkspaceList />
          </Panel>
        )}
        {data.recent && (
          <Panel title="Recent changes" actions={<a href="/audit">Audit log</a>}>
            {data.recent.nodes.length === 0 && <Empty>Nothing has happened yet.</Empty>}
            <ul class="links">
              {data.recent.nodes.map(({ id, time, action, resourceType, resourceLabel, actorUsername, actorKind }) => (
                <li key={id}>
                  <span>
                    {actorUsername ?? wordsOf(actorKind)} {doneOf(action)}{" "}
                    {!action.startsWith("LOG") && (
                      <>
                        {nounOf(resourceType)} <Label type={resourceType} text={resourceLabel} />
                      </>
                    )}
                  </span>
                  <Time at={time} />
                </li>
              ))}
            </ul>
          </Panel>
        )}
      </div>
    </>
  );
}

interface TileProps {
  href: string;
  label: string;
  count: number;
  note: preact.ComponentChildren;
  isBad?: boolean;
}

const Tile = ({ href, label, count, note, isBad }: TileProps) => (
  <li>
    <a href={href} class={isBad ? "tile bad" : "tile"}>
      <span>{label}</span>
      <b>{totalOf(count)}</b>
      <span class="faint">{note}</span>
    </a>
  </li>
);

/** The charts, and what belongs to one organization. */
function OfOrganization({ children }: { children: preact.ComponentChildren }) {
  const choice = useOrganization();
  const { chosen } = choice;
  const may = useAllowed<"daemons" | "spending" | "use">(
    chosen
      ? {
          daemons: { may: "provisioner_daemon:read", organizationId: chosen.id },
          spending: { may: "group_ai_budget:read", organizationId: chosen.id },
          use: { may: "template:view_insights", organizationId: chosen.id },
        }
      : undefined,
  );
  const variables = chosen && {
    organization: chosen.id,
    timeZone,
    daemons: may("daemons"),
    spending: may("spending"),
    use: may("use"),
  };
  const { data } = useData(OverviewOrganization, may.isKnown ? variables : undefined);
  if (!chosen || !data) return <div class="columns charts">{children}</div>;
  const counts = data.dailyCounts;
  const daemons = data.provisionerDaemons;
  const offline = daemons?.filter(({ status }) => status === "OFFLINE").length ?? 0;
  return (
    <>
      <Filters>
        <OrganizationChoice of={choice} />
      </Filters>
      <div class="columns charts">
        {counts?.builds && (
          <Chart
            title="Builds a day"
            days={beginnings(counts.days)}
            series={[
              { label: "Succeeded or running", color: "good", values: without(counts.builds, counts.failedBuilds) },
              { label: "Failed", color: "bad", values: counts.failedBuilds ?? [] },
            ]}
          />
        )}
        {counts?.createdTasks && (
          <Chart
            title="New tasks a day"
            days={beginnings(counts.days)}
            series={[{ label: "Tasks", color: "accent", values: counts.createdTasks }]}
          />
        )}
        {children}
      </div>
      <div class="columns">
        {data.mostUsedTemplates && <MostUsedTemplates of={data.mostUsedTemplates} />}
        {data.organizationAiSpend && <AiSpending of={data.organizationAiSpend} />}
        <Panel title={`You in ${titleOf(chosen)}`}>
          <dl class="shares">
            {data.workspaceQuota && (
              <div>
                <dt>Workspace credits</dt>
                <dd>
                  <Share part={data.workspaceQuota.creditsConsumed} of={data.workspaceQuota.budget} />
                </dd>
              </div>
            )}
            {data.aiSpend && (
              <div>
                <dt>AI spending this month</dt>
                <dd>
                  <Share part={data.aiSpend.spentMicros} of={data.aiSpend.limitMicros} show={amountOf} />
                </dd>
              </div>
            )}
            {daemons && (
              <div>
                <dt>Provisioner daemons</dt>
                <dd>
                  <a href={`/provisioners?organization=${chosen.id}`}>{daemons.length - offline} online</a>
                  {offline > 0 && `, ${offline} offline`}
                </dd>
              </div>
            )}
          </dl>
        </Panel>
      </div>
    </>
  );
}
