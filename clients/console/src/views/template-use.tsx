// How a template is used: its workspaces, how long their builds took, and those that failed, as far as the caller sees them.
import { useData } from "../api/hooks";
import { Facts, Panel } from "../ui/parts";
import { countOf, totalOf } from "../ui/text";
import { FailedWorkspaceList } from "./failed-workspaces";
import { TemplateUse, type TemplateUseQuery } from "./template-use.gql";

type Listed = TemplateUseQuery["all"]["nodes"][number];

/** Seconds that the latest builds of workspaces took which started them, in ascending order. */
const startTimes = (workspaces: readonly Listed[]): number[] =>
  workspaces
    .flatMap(({ latestBuild }) => {
      const { startedAt, completedAt, status } = latestBuild?.job ?? {};
      const isStart = latestBuild?.transition === "START" && status === "SUCCEEDED";
      return isStart && startedAt && completedAt ? (Date.parse(completedAt) - Date.parse(startedAt)) / 1_000 : [];
    })
    .toSorted((one, other) => one - other);

const secondsText = (seconds: number): string =>
  seconds < 0.5
    ? "less than a second"
    : seconds < 120
      ? countOf(Math.round(seconds), "second")
      : countOf(Math.round(seconds / 60), "minute");

/** The time of half of the builds and that of all, unless they are the same. */
const rangeOf = (usual: string, most: string): string => (usual === most ? usual : `${usual}, at most ${most}`);

export function TemplateUsePanel({ id }: { id: string }) {
  const { data } = useData(TemplateUse, { id });
  if (!data) return null;
  const { all, running, failed } = data;
  const times = startTimes(all.nodes);
  return (
    <Panel title="Use" actions={<a href={`/workspaces?template=${id}`}>Workspaces</a>}>
      <Facts
        facts={[
          ["Workspaces", totalOf(all.totalCount)],
          ["Running", totalOf(running.totalCount)],
          ["Latest build failed", totalOf(failed.totalCount)],
          [
            "A start takes",
            times.length === 0
              ? ""
              : rangeOf(secondsText(times[Math.floor(times.length / 2)]!), secondsText(times.at(-1)!)),
          ],
        ]}
      />
      {failed.totalCount > 0 && <FailedWorkspaceList templateId={id} />}
    </Panel>
  );
}
