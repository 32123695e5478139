// Workspaces whose latest build failed, with the reason: all that the caller sees, or those of a template.
import { useData } from "../api/hooks";
import { Time } from "../ui/parts";
import { FailedWorkspaces } from "./failed-workspaces.gql";

export function FailedWorkspaceList({ templateId = null }: { templateId?: string | null }) {
  const { data } = useData(FailedWorkspaces, { templateId });
  return (
    <ul class="links" aria-label="Failed builds">
      {data?.workspaces.nodes.map(({ id, name, owner, latestBuild }) => (
        <li key={id}>
          <span>
            <a href={`/workspaces/${id}`}>
              {owner.username}/{name}
            </a>
            {latestBuild?.job.error && <span class="faint block">{latestBuild.job.error}</span>}
          </span>
          <Time at={latestBuild?.createdAt} />
        </li>
      ))}
    </ul>
  );
}
