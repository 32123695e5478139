// The page to which the notice leads that a workspace stops soon. Opening it changes nothing.
import { useAllowed } from "../api/allowed";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { Failure } from "../ui/failure";
import { HealthStatus } from "../ui/health";
import { Facts, Heading, Loading, Time } from "../ui/parts";
import { countOf } from "../ui/text";
import { ExtendDeadline, StopTime } from "./extend.gql";
import { canStart, Transition } from "./workspace-changes";

const hour = 3_600_000;

/** Hours for which a workspace can be kept running with a click. */
const choices = [1, 4, 8];

export function ExtendView({ id }: { id: string }) {
  const { data, error, refresh } = useData(StopTime, { id });
  const may = useAllowed({
    update: { may: "workspace:update", resourceId: id },
    start: { may: "workspace:start", resourceId: id },
  });
  const workspace = data?.workspace;
  if (!workspace) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  const { name, status, deadline, latestBuild } = workspace;
  const latest = Date.parse(latestBuild?.maxDeadline ?? "") || Infinity;
  const from = Date.parse(deadline ?? "");
  const fitting = choices.filter((hours) => from + hours * hour <= latest);
  const isRunning = status === "RUNNING" && deadline;
  return (
    <>
      <Heading title={`Keep ${name} running`} up={[`/workspaces/${id}`, name]}>
        {canStart(status) && <Transition workspace={workspace} mayStart={may("start")} mayStop={false} />}
      </Heading>
      <Facts
        facts={[
          ["Status", <HealthStatus key="status" status={status} health={workspace.health} />],
          ["Stops", <Time key="stops" at={deadline} none="not by itself" />],
          ...(latest < Infinity
            ? ([["At the latest", <Time key="latest" at={latestBuild?.maxDeadline} />]] as const)
            : []),
        ]}
      />
      {isRunning && may("update") && (
        <p class="actions">
          {fitting.map((hours, at) => (
            <Action
              key={hours}
              label={`Keep it running for ${countOf(hours, "more hour")}`}
              look={at === 0 ? "primary" : undefined}
              run={ExtendDeadline}
              given={{ workspace: id, deadline: new Date(from + hours * hour).toISOString() }}
              done={refresh}
              said={`It runs for ${countOf(hours, "more hour")}.`}
            />
          ))}
        </p>
      )}
      {isRunning && fitting.length === 0 && (
        <p class="note">
          Its template stops it at this time at the latest. You can start it again afterwards; its files stay.
        </p>
      )}
      {!isRunning && status !== "RUNNING" && (
        <p class="note">It does not run. Its files are kept, and are there when it is started again.</p>
      )}
    </>
  );
}
